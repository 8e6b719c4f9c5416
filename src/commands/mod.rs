//! One verb a file: its arguments and its run, top to bottom.
