"""Many signatures at once: columns, tables, engines, catalogs and searches."""
