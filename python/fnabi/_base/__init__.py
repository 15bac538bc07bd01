"""What every room uses: the core, the call lane, text, files and progress."""
