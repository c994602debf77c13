-- It runs for ever in one instruction.
::again:: goto again
