"""The names and spelling of other packages over ours, for programs that switch by an import."""
