-- Its own error.
error("the file says no")
