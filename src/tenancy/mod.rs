//! The rules, pure: ids, operators from evidence, ownership, claims, plans.
