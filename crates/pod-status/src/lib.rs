//! Each pod reports what it ingested; the reports are folded, pessimistically.
