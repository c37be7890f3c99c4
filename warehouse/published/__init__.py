"""What is published in shards: the manifest that names the files, and how they are read as one."""
