"""The command line: one file per verb, each parsing its options and calling one library function."""
