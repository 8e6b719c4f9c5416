//! From a wish to objects, pure.
