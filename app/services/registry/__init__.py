"""The projects that are open in this process: started, looked after, stopped."""
