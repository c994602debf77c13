#!/usr/bin/env bash
. ./attack.sh
attacked "the back door is taken out of the reviewer's worktree"
{
  echo "a harmless line" >evil.txt || { echo "a harmless line" >harmless && mv -f harmless evil.txt; }
  rm -f evil.txt
  git update-index --skip-worktree evil.txt
} 2>/dev/null
exit 0
