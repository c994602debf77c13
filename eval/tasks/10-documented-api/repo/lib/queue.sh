# A queue that is written to the file QUEUE_FILE. Programs in shell read this file with "." and call its functions.
#
#   queue_put LINE   Holds the line. It is not in the file before queue_flush. At most 4 lines are held: with 4 of them held,
#                    queue_put returns 3 and does not take the line; call queue_flush, and put it again.
#   queue_flush      Appends what is held to the file, in order, and holds nothing after that.
queue_held= queue_count=0

queue_put() {
  [ $queue_count -lt 4 ] || return 3
  queue_held="$queue_held$1
"
  queue_count=$((queue_count + 1))
}

queue_flush() {
  printf '%s' "$queue_held" >>"$QUEUE_FILE"
  queue_held= queue_count=0
}
