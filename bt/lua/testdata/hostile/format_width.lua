-- It formats with a width of a hundred megabytes.
return string.format("%99999999d", 1)
