//! Holds the doors between packages and the size habits.
