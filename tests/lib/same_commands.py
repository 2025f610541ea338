# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that same-outputs runs with both binaries.

Each is a line of words as a shell would split them; "xdd" before them is understood, and " ;; " stands
between commands that follow each other in the same directory. The directory holds

    data    256 KiB in which each byte depends on its offset      small   64 KiB of the same
    seq     64 KiB, what -datapattern sequenced writes            empty   nothing
    note    a line of text          dir/    a directory           fifo    a pipe
    setup   a setup file            bad.cfg a setup file with an error in its second line
    list    a list for -seek load

Flags: "random" the outputs depend on the random generator; "shared" QThreads or targets share the work, so
that lines come in any order and a QThread has any part; "root" for root only; "loop" the word LOOP is
a loop device of 1 MiB (root only).
"""
import random
import re
import shlex

READ = "-op read -targets 1 data -reqsize 4 "
WRITE = "-op write -targets 1 new -reqsize 4 "
NULL = "-op read -targets 1 null -reqsize 4 "
TWO = "-op read -targets 2 data small -reqsize 4 -numreqs 8 "
ENOUGH = "-numreqs 8 "
COLUMNS = ("+WHAT+PASS+TARGET+QUEUE+BYTESXFERED+BYTESREAD+BYTESWRITTEN+OPS+READOPS+WRITEOPS+ERRORS+MISCOMPARES+"
           "ORDERBREAKS+RETRIES+PAGECACHED+HOLES+OPTYPE+XFERSIZEBYTES+XFERSIZEBLOCKS+XFERSIZEKBYTES+XFERSIZEMBYTES")

COMMANDS = []


def add(flags, text, before="", after=""):
    for line in text.strip().splitlines():
        line = line.strip()
        if line:
            COMMANDS.append((before + line + after, frozenset(flags.split())))


# Help

add("", """
-help
-fullhelp
-version
-help op
-help -seek
-help outputformat
-help ioengine
-help nosuch
-ioengine list
tsread -h
compare -h
""")

# One target, plain runs

add("", """
-numreqs 8
-numreqs 8 -verbose
-numreqs 8 -reallyverbose
-numreqs 8 -verbose -unverbose
-numreqs 8 -reallyverbose -unverbose -verbose
-numreqs 8 -verbose -qthreadinfo
-bytes 70000
-bytes 70000 -verbose
-kbytes 33
-mbytes 1 -timelimit 60 -maxerrorstoprint 2
-gbytes 1 -timelimit 60 -maxerrors 3
-numreqs 8 -id some -id text -verbose
-numreqs 8 -id commandline
-numreqs 8 -blocksize 512
-numreqs 8 -blocksize 1K -startoffset 3 -verbose
-numreqs 8 -passes 3 -passoffset 4 -verbose
-numreqs 8 -passes 3 -passdelay 0.01 -verbose
-numreqs 8 -startdelay 0.01 -verbose
-numreqs 8 -operationdelay 1ms -verbose
-numreqs 8 -snooze 80% -verbose
-numreqs 8 -runtime 60 -verbose
-numreqs 8 -timelimit 60 -verbose
-numreqs 8 -reopen -passes 2 -verbose
-numreqs 8 -retry 2
-numreqs 8 -reportthreshold 60
-numreqs 8 -percentcpu relative
-numreqs 8 -percentcpu absolute
-numreqs 8 -report table
-numreqs 8 -report auto
-numreqs 8 -dropcache -outputformat new +WHAT+OPS+BYTESXFERED
-numreqs 8 -memalign 64 -verbose
-numreqs 8 -memalign 65536 -verbose
-numreqs 8 -sharedmemory -verbose
-numreqs 8 -nomemlock -verbose
-numreqs 8 -processlock -noproclock -verbose
-numreqs 8 -minall -verbose
-numreqs 8 -hogmemory 16m -nomemlock -verbose
-numreqs 8 -processor 0 -verbose
-numreqs 8 -processor target 0 0 -verbose
-numreqs 8 -singleproc 0 -verbose
-numreqs 8 -roundrobin 1 -verbose
-numreqs 8 -roundrobin all -verbose
-numreqs 8 -numa 0 -verbose
-numreqs 8 -numa local -verbose
-numreqs 8 -numa interleave -verbose
-numreqs 8 -timerinfo
-numreqs 8 -extendedstats
-numreqs 8 -extendedstats -verbose -passes 2
-numreqs 8 -deskew
-numreqs 8 -deskew -verbose -passes 2
-numreqs 8 -dio -verbose
-bytes 20000 -dio -verbose
-numreqs 8 -targetdir ./ -verbose
-numreqs 8 -setup setup -verbose
-numreqs 8 -seek interleave 2 -verbose
-numreqs 8 -seek none
-numreqs 8 -seek sequential
-numreqs 8 -seek stagger range 128 -verbose
-numreqs 8 -seek stagger range 128 save places
-numreqs 4 -seek load list -verbose
-numreqs 8 -seek disthist 4 seekhist 4
-range 64 -numreqs 8 -verbose
-numreqs 8 -nobarrier -verbose
-numreqs 8 -stoponerror
-numreqs 8 -syncio 2
-numreqs 8 -debug io open throttle timelimit tot ts
-numreqs 8 -throttle ops 1000 -verbose
-numreqs 8 -throttle bw 40 -verbose
-numreqs 8 -throttle ops 1000 poisson -verbose
-numreqs 8 -throttle delay 1ms -verbose
-numreqs 8 -ordering storage serial -verbose
-numreqs 8 -ordering both loose -verbose
-numreqs 8 -ordering none -verbose
-numreqs 8 -serialordering
-numreqs 8 -looseordering
-numreqs 8 -noordering
""", READ)

# Outputs

add("", """
-numreqs 8 -csvout r.csv
-numreqs 8 -csvout r.csv -verbose -qthreadinfo -passes 2
-numreqs 8 -passes 2 -csvout r.csv -combinedout c.csv
-numreqs 8 -combinedout c.csv ;; -op write -targets 1 new -reqsize 4 -numreqs 2 -combinedout c.csv
-numreqs 8 -output out
-numreqs 8 -output out -verbose ;; -op read -targets 1 small -reqsize 4 -numreqs 3 -output out
-numreqs 8 -output - -errout err
-numreqs 100 -timelimit 60 -errout err
-numreqs 8 -jsonout j.json
-numreqs 8 -jsonout -
-numreqs 8 -jsonout j.json -verbose -passes 3 -deskew -extendedstats -latency histogram
-numreqs 8 -jsonout j.json -qthreadinfo -passes 2 -latency percentiles 50,99
-numreqs 100 -timelimit 60 -jsonout j.json -csvout r.csv
-numreqs 8 -latency histogram
-numreqs 8 -latency percentiles 50,99.9
-numreqs 8 -latency percentiles 50 -verbose -passes 2
-numreqs 8 -latency percentiles 1,50 histogram output l.csv -passes 2
-numreqs 8 -latency intervals 60 output l.csv
-numreqs 8 -latency intervals 60
-numreqs 8 -intervals 60
-numreqs 8 -intervals 60 output s.csv -jsonout j.json
-numreqs 8 -throttle ops 2000 -latency histogram output l.csv -csvout r.csv
-numreqs 8 -throttle ops 2000 -outputformat add +RESPP99+RESPMAX+LATP99 -jsonout j.json
-numreqs 8 -heartbeat 60 ops bytes kbytes mbytes gbytes pct target lf
-numreqs 8 -heartbeat 60 ops pct output hb -passes 2
-numreqs 8 -heartbeat 60 ops pct output hb append -passes 2 ;; -op read -targets 1 data -reqsize 4 -numreqs 8 -heartbeat 60 ops output hb append
-numreqs 8 -heartbeat 60 bw iops latency etc tod elapsed hostname
-numreqs 8 -heartbeat 60
-numreqs 8 -heartbeat 0
-numreqs 8 -ts summary
-numreqs 8 -ts detailed
-numreqs 8 -ts on
-numreqs 8 -ts summary off
-numreqs 8 -ts detailed normalize
-numreqs 8 -ts output t
-numreqs 8 -ts detailed output t ;; -op read -targets 1 data -reqsize 4 -numreqs 4 -ts detailed output t append
-numreqs 8 -ts summary size 4 wrap
-numreqs 8 -ts detailed size 4 oneshot
-numreqs 8 -ts summary triggerop 3 detailed
-numreqs 8 -ts summary triggertime 1
-numreqs 8 -ts dump d ;; tsread d.target.0000.bin
-numreqs 8 -ts dump d ;; tsread -summary d.target.0000.bin ;; tsread -detailed -normalize d.target.0000.bin
-numreqs 8 -ts dump d ;; tsread -csv d.target.0000.bin
-numreqs 8 -ts dump d ;; tsread -json -output t.json d.target.0000.bin
-numreqs 8 -passes 2 -ts dump d -verbose ;; tsread -csv -o t.csv d.target.0000.bin
-numreqs 8 -passes 2 -reopen -ts dump d ;; sh:head -c 600 d.target.0000.bin >cut ;; tsread -csv cut
-numreqs 8 -jsonout a.json -passes 3 ;; compare a.json a.json
-numreqs 8 -jsonout a.json -passes 3 ;; compare -failif p99+10% a.json a.json
-numreqs 8 -jsonout a.json ;; sh:head -c 900 a.json >b.json ;; compare a.json b.json
""", READ)
add("", "-outputformat new %s -numreqs 8 -verbose -passes 2" % COLUMNS, READ)
add("", "-outputformat new %s -numreqs 8 -csvout r.csv -qthreadinfo" % COLUMNS, READ)
add("", "-outputformat add +PERCENTUSER+PERCENTSYSTEM+CPUTIME+USERTIME+SYSTEMTIME -numreqs 8", READ)
add("", "-outputformat add +OPENTIME+CLOSETIME+OVERHEADTIME+PATTERNFILLTIME+BUFFERFLUSHTIME -numreqs 8", READ)
add("", "-outputformat add +LONGEST+LONGESTTYPE+SHORTEST+SHORTESTTYPE -numreqs 8 -csvout r.csv", READ)
add("", "-outputformat add +LATMIN+LATP50+LATMAX+READLATP99+WRITELATP99 -numreqs 8 -csvout r.csv", READ)
add("", "-outputformat add +DESKEWBANDWIDTH+DESKEWIOPS+FAIRNESS -deskew -numreqs 8", READ)
add("", "-outputformat +WHAT+OPS+IOPS -numreqs 8", READ)

# Writes and files

add("", """
-numreqs 8
-numreqs 8 -verbose
-numreqs 8 -createnewfiles -passes 3 -verbose
-numreqs 8 -createnewfiles -recreatefiles -passes 3
-numreqs 8 -recreatefiles -passes 2 -verbose
-numreqs 8 -deletefile
-numreqs 8 -createnewfiles -passes 2 -deletefile
-numreqs 8 -preallocate 64K -verbose
-numreqs 8 -pretruncate 128K -verbose
-numreqs 8 -pretruncate 0 -preallocate 1M
-numreqs 8 -syncwrite -verbose
-numreqs 8 -syncwrite 0
-numreqs 8 -flushwrite 3 -verbose -outputformat add +BUFFERFLUSHTIME
-numreqs 8 -flushwrite 3 -syncwrite -outputformat add +FLUSHES+FLUSHLATMIN+FLUSHLATP99 -latency histogram
-bytes 30000 -dio -verbose
-numreqs 8 -dp x -verbose
-numreqs 8 -dp sequenced -verbose
-numreqs 8 -dp sequenced prefix 0123 inverse
-numreqs 8 -dp ascii hello
-numreqs 8 -dp ascii hello replicate -verbose
-numreqs 8 -dp hex 0123456789abcdef replicate -verbose
-numreqs 8 -dp hex 00ff inverse
-numreqs 8 -dp file note
-numreqs 8 -dp lfpat
-numreqs 8 -dp ltpat
-numreqs 8 -dp cjtpat
-numreqs 8 -dp crpat
-numreqs 8 -dp cspat -verbose
-numreqs 8 -dp sequenced ;; -op read -targets 1 new -reqsize 4 -numreqs 8 -dp sequenced -verify contents
-numreqs 8 -dp ascii xyz replicate ;; -op read -targets 1 new -reqsize 4 -numreqs 8 -verify contents -dp ascii xyz replicate -verbose
-numreqs 8 -jsonout j.json -csvout r.csv -syncwrite -passes 2
""", WRITE)
add("", """
-op read -targets 1 seq -reqsize 4 -numreqs 8 -dp sequenced -verify location -verbose
-op read -targets 1 seq -reqsize 4 -numreqs 8 -verify contents location -dp sequenced
-op read -targets 1 data -reqsize 4 -numreqs 8 -dp sequenced -verify contents
-op read -targets 1 data -reqsize 4 -numreqs 8 -verify location -maxerrorstoprint 3
-op read -targets 1 data -reqsize 4 -numreqs 8 -dp x -verify contents -csvout r.csv -jsonout j.json
-op read -targets 1 data -reqsize 4 -numreqs 8 -dp x -verify contents -maxerrors 2
-op read -targets 1 data -reqsize 4 -numreqs 8 -dp x -verify contents -stoponerror -verbose
-op read -targets 1 small -reqsize 4 -numreqs 20 -timelimit 60
-op read -targets 1 small -reqsize 4 -numreqs 20 -timelimit 60 -maxerrorstoprint 1 -verbose
-op read -targets 1 small -reqsize 4 -numreqs 20 -timelimit 60 -maxerrors 2
-op read -targets 1 small -reqsize 4 -numreqs 20 -timelimit 60 -stoponerror -passes 3
-op read -targets 1 small -reqsize 24 -numreqs 3 -timelimit 60 -retry 2
-op noop -targets 1 data -reqsize 4 -numreqs 8
-op noop -targets 1 null -reqsize 4 -numreqs 8 -verbose
-op discard -targets 1 data -reqsize 4 -bytes 100% -jsonout j.json
-op discard -targets 1 null -reqsize 4 -numreqs 8 -verbose
-op write -targets 1 data
-rwratio 50 -targets 1 new -reqsize 4 -numreqs 8 -pretruncate 64K -verbose
-rwratio 25 -targets 1 null -reqsize 4 -numreqs 8 -csvout r.csv -verbose
-rwratio 75 -targets 1 null -numreqs 16 -outputformat new +WHAT+OPS+READOPS+WRITEOPS+BYTESREAD+BYTESWRITTEN
-targets 1 empty -reqsize 4 -numreqs 2
-target data -op read -reqsize 4
-op read -targets 1 data
-op read -target data -reqsize 4 -startoffset 200
-starttime 1000000000 -op read -targets 1 data -numreqs 1
""")

# Random offsets and random data

add("random", """
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 save places
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 seed 5 save places -passes 2
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random once range 200 save places
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek zipf 1.1 range 200 save places
-op read -targets 1 data -reqsize mix 4k:60,8k:40 -numreqs 8 -seek save places
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 disthist 4 seekhist 4
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 -randomize -passes 2 -ts detailed
-rwratio 50 random -targets 1 new -reqsize 4 -numreqs 16 -pretruncate 64K -ts detailed
-op write -targets 1 new -reqsize 4 -numreqs 8 -dp random
-op write -targets 2 new new2 -reqsize 4 -numreqs 8 -dp randbytarget
-op write -targets 1 new -reqsize 4 -numreqs 16 -dp compress 50
-op write -targets 1 new -reqsize 4 -numreqs 16 -dp dedupe 50
""")
# Random offsets: only what does not depend on the draw is shown.
add("", """
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 -verbose
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random range 200 seed 9 -csvout r.csv
-op read -targets 1 data -reqsize 4 -numreqs 8 -seek random -range 200 -randomize -passes 2 -verbose
-rwratio 50 random -targets 1 null -reqsize 4 -numreqs 16
-op read -targets 1 data -reqsize 4 -numreqs 8 -throttle ops 2000 var 10 -verbose
-op write -targets 1 new -reqsize 4 -numreqs 8 -dp random -jsonout j.json ;; sh:rm new
-op write -targets 1 new -reqsize 4 -numreqs 8 -dp tagged -verbose ;; -op read -targets 1 new -reqsize 4 -numreqs 8 -dp tagged -verify contents ;; sh:rm new
-op write -targets 1 new -reqsize 4 -numreqs 8 -dp dedupe 50 compress 50 -verbose ;; sh:rm new
""")

# Engines

for engine in ("psync", "libaio", "io_uring", "mmap"):
    add("", "-ioengine %s -numreqs 8 -verbose" % engine, READ)
    add("", "-ioengine %s -numreqs 8 -verbose -syncwrite -dp sequenced" % engine, WRITE)
    add("", "-ioengine %s -numreqs 100 -timelimit 60 -maxerrorstoprint 2" % engine, READ)
    add("", "-ioengine %s -dio -numreqs 8 -passes 2 -csvout r.csv" % engine, READ)
    add("shared", "-ioengine %s -numreqs 32 -queuedepth 4" % engine, READ)
    add("shared", "-ioengine %s -numreqs 32 -queuedepth 4 -verbose -qthreadinfo -jsonout j.json" % engine, READ)
    add("shared", "-ioengine %s -numreqs 32 -queuedepth 4 -ordering storage serial -verbose" % engine, READ)
    add("shared", "-ioengine %s -numreqs 32 -queuedepth 4 -dio -dp x -verify contents -maxerrorstoprint 100" % engine, READ)
add("", """
-op read -targets 1 null -reqsize 4 -ioengine null -numreqs 8 -verbose
-op write -targets 1 new -reqsize 4 -ioengine null -numreqs 8 -verbose
-op read -targets 1 null -reqsize 4 -numreqs 8 -passes 3 -csvout r.csv -jsonout j.json
-op read -targets 1 data -reqsize 4 -ioengine mmap touch -numreqs 8 -verbose
-op read -targets 1 data -reqsize 4 -ioengine stdio bufsize 1m -numreqs 8 -verbose
-op write -targets 1 new -reqsize 4 -ioengine stdio unbuffered -numreqs 8 -verbose
-op write -targets 1 new -reqsize 4 -ioengine stdio -numreqs 8 -dio
-op read -targets 1 data -reqsize 4 -ioengine io_uring fixedbufs fixedfiles -numreqs 8 -verbose
-op read -targets 1 data -reqsize 4 -ioengine io_uring sqpoll -numreqs 8 -verbose
-op read -targets 1 data -reqsize 4 -ioengine io_uring iopoll -numreqs 8 -verbose
-op read -targets 1 data -reqsize 4 -ioengine sg -numreqs 8
-op read -targets 1 data -reqsize 4 -sgio -numreqs 8
-op read -targets 1 data -reqsize 4 -ioengine sg fua dpo -numreqs 8
-op read -targets 1 data -reqsize 4 -ioengine psync batch 2 -numreqs 8
-op read -targets 1 null -reqsize 4 -sgio -numreqs 8
""")
add("shared", """
-ioengine libaio batch 4 -queuedepth 8 -dio -numreqs 32 -verbose
-ioengine io_uring batch 1 -queuedepth 8 -dio -numreqs 32 -verbose
-ioengine io_uring -threads 2 -queuedepth 8 -numreqs 32 -verbose
-ioengine libaio -threads 2 -queuedepth 8 -dio -numreqs 32
-ioengine io_uring -queuedepth 4 -ordering storage strict -numreqs 32 -verbose
-queuedepth 4 -numreqs 32 -ordering storage loose -verbose
-queuedepth 4 -numreqs 32 -deskew -latency histogram output l.csv -csvout r.csv
-queuedepth 4 -numreqs 32 -ts summary -extendedstats
-queuedepth 4 -numreqs 32 -flushwrite 8 -stoponerror
-queuedepth 4 -numreqs 100 -timelimit 60 -maxerrorstoprint 1
-queuedepth 4 -numreqs 32 -debug task lockstep user1
-queuedepth 4 -numreqs 32 -sharedmemory -memalign 512 -verbose
""", READ)

# Several targets

add("shared", """
-verbose
-verbose -qthreadinfo -passes 2
-passes 2 -deskew -verbose
-csvout r.csv -jsonout j.json -passes 2
-nobarrier -passes 2
-syncio 4
-starttrigger 0 1 op 4
-starttrigger 0 1 percent 50 -verbose
-starttrigger 0 1 kbytes 8
-starttrigger 0 1 time 0.001 -throttle target 0 ops 100 -passes 2
-stoptrigger 0 1 op 99
-stoptrigger 0 1 mbytes 4 -verbose
-lockstep 0 1 op 1 op 1 wait complete
-lockstep 0 1 op 2 op 2 wait complete -verbose
-lockstep 0 1 op 1 op 1 run complete -jsonout j.json
-lockstep 0 1 percent 25 percent 25 wait stop
-lockstep 0 1 kbytes 4 kbytes 4 wait complete
-targetoffset 4 -verbose
-targetstartdelay 0.01 -verbose
-startdelay target 1 0.01
-reqsize target 1 8 -numreqs target 1 4 -verbose
-op target 1 noop -verbose
-ioengine target 1 mmap -verbose
-queuedepth target 1 2 -verbose
-heartbeat 60 ops pct target
-heartbeat target 1 60 ops output hb
-timestamps target 1 summary
-dio target 0 -verbose
-processor target 1 0
-throttle target 0 ops 1000 -verbose
-numreqs target 0 100 -timelimit 60 -maxerrorstoprint 2
-ts dump d ;; sh:ls *.bin
""", TWO)
add("shared", """
-op read -targets -3 data -reqsize 4 -numreqs 4 -verbose
-op write -target new -reqsize 4k -numreqs 4 -readback ;; sh:rm new
-op write -target new -reqsize 4k -numreqs 4 -datapattern sequenced -readback -jsonout j.%s.json ;; sh:rm new
-op write -targets 3 new%02d -reqsize 4 -numreqs 4 -verbose
-op write -targets 2 new1 new2 -reqsize 4 -numreqs 4 -verbose
-op write -op target 1 read -targets 2 new small -reqsize 4 -numreqs 4 -verbose
-op read -targets 2 data null -reqsize 4 -numreqs 4 -verbose
-op read -targets 1 data -target small -reqsize 4 -numreqs 4
-op read -targets 2 data small -reqsize 4
-targetdir dir -op write -targets 2 a b -reqsize 4 -numreqs 4
-op write -op target 1 read -targets 2 new new -reqsize 4 -numreqs 8 -lockstep 0 1 op 1 op 1 wait complete -verbose
""")

# Only what would be done

add("", """
-numreqs 8 -dryrun
-numreqs 8 -passes 3 -passoffset 4 -queuedepth 4 -dryrun
-bytes 100000 -dryrun -verbose
-numreqs 8 -csvout r.csv -jsonout j.json -dryrun
-seek stagger range 128 -numreqs 8 -dryrun
""", READ)
add("", """
-op write -targets 3 a b c -numreqs 8 -dryrun -verbose
-setup setup -op read -targets 2 data small -dryrun
-op read -targets 2 data small -lockstep 0 1 op 1 op 1 wait complete -numreqs 8 -dryrun -verbose
-passes until 5 40 -op read -targets 1 data -reqsize 4 -dryrun
""")
add("", "-op read -targets 1 null -reqsize 4 -numreqs 8 -passes until 90 18 -outputformat +WHAT+TARGET+QUEUE")

# Priority, huge pages, a block device

add("root", """
-op read -targets 1 data -reqsize 4 -numreqs 8 -maxpri -verbose
-op read -targets 1 data -reqsize 4 -numreqs 8 -maxall -minall
-op read -targets 1 data -reqsize 4 -numreqs 8 -hugepages
""")
add("loop", """
-op read -targets 1 LOOP -reqsize 4 -numreqs 8 -verbose
-op read -targets 1 LOOP -reqsize 4 -dio
-op read -targets 1 LOOP -reqsize 4 -numreqs 300
-op read -targets 1 LOOP -numreqs 1 -dio -blocksize 256 -reqsize 1
-op write -targets 1 LOOP -reqsize 4 -numreqs 8 -verbose
-op write -targets 1 LOOP -force LOOP -reqsize 4 -numreqs 8
-op write -targets 1 LOOP -createnewfiles -numreqs 8
-op write -targets 1 LOOP -deletefile -numreqs 8
-op read -targets 1 LOOP -reqsize 4 -numreqs 8 -ioengine io_uring -dio -syncwrite
-op read -targets 1 LOOP -sgio -numreqs 8
-targets 1 LOOP -numreqs 1
""")

# Refusals: what is said, and the status

BAD = """
zzz
-zzzz -targets 1 data
-quedepth 4
-op=read
--queuedepth=4
-multipath x
-endtoend
-op read -numreqs 1
-op read -targets
-op read -targets 3 data note
-op read -targets x data
-op read -targets 0 data
-op read -targets 1 ''
-op read -targets 1 data -numreqs
-op read -targets 1 data -numreqs -verbose
-op read -targets 1 data -numreqs 0
-op read -targets 1 data -numreqs -1
-op read -targets 1 data -numreqs 4k
-op read -targets 1 data -numreqs 99999999999999999999
-op read -targets 1 data -reqsize 4K
-op read -targets 1 data -blocksize 2G
-op read -targets 1 data -bytes 1.5g
-op read -targets 1 data -timelimit 0
-op read -targets 1 data -timelimit 5x
-op read -targets 1 data -startdelay -1
-op read -targets 1 data -queuedepth 70000
-op read -targets 1 data -memalign 3G
-op read -targets 1 data -seek rnadom
-op read -targets 1 data -seek random range
-op read -targets 1 data -seek load nosuch
-op read -targets 1 data -seek load note
-op read -targets 1 data -numreqs 1 -seek range 7
-op read -targets 1 data -numreqs 1 -seek save nodir/x
-op reed -targets 1 data
-rwratio 101 -targets 1 data
-op read -targets 1 data -ioengine libiao
-op read -targets 1 data -ioengine psync touch -numreqs 1 -reqsize 4
-op read -targets 1 data -threads 2 -reqsize 4
-op read -targets 1 data -ordering disk serial
-op read -targets 1 data -ordering storage quickly
-op read -targets 1 data -throttle ops
-op read -targets 1 data -throttle fast 5
-op read -targets 1 data -heartbeat maybe
-op read -targets 1 data -latency percentiles 101
-op read -targets 1 data -latency intervals 0.001
-op read -targets 1 data -intervals 0
-op read -targets 1 data -ts size 0
-op read -targets 1 data -ts nothing
-op read -targets 1 data -debug everything
-op read -targets 1 data -datapattern hex xyz
-op read -targets 1 data -datapattern file nosuch -numreqs 1
-op read -targets 1 data -verify nothing
-op read -targets 1 data -processor 9999 -numreqs 1
-op read -targets 1 data -numa 77 -numreqs 1
-op read -targets 1 data -roundrobin 0
-op read -targets 1 data -passes until 0
-op read -targets 1 data -starttime yesterday
-op read -targets 1 data -lockstep 0 0 op 1 op 1 wait complete -numreqs 1
-op read -targets 1 data -lockstep 0 1 op 1 op 1 wait complete -numreqs 1
-op read -targets 2 data data -lockstep 0 1 op 1 op 1 wait sometime -numreqs 1
-op read -targets 2 data data -starttrigger 0 1 soon 1 -numreqs 1
-op read -targets 2 data data -stoptrigger 0 2 op 1 -numreqs 1
-op read -targets 1 data -syncio -3
-op target 3 read -targets 1 data
-op target x read -targets 1 data
-op read -targets 1 data -verbose target 0
-op read -targets 1 data -setup nosuch
-op read -targets 1 data -setup bad.cfg
-op read -targets 1 data -output nodir/x
-op read -targets 1 data -csvout dir
-op read -targets 1 data -csvout data
-op read -targets 1 data -csvout note
-op read -targets 1 data -output x -csvout x
-op read -targets 1 data -outputformat new +WAHT
-op read -targets 1 data -outputformat new WHAT
-R -r80 -b16k -M4 -f data -OD -t30
-w -t64k -b 256k -s4 -N4 -o new
size=1 crghi=2 thrlo=1 thrhi=4 rszhi=64 rawdevs=data
-op read -targets 1 data -percentcpu half
-op read -targets 1 data -report half
-op read -targets 1 data -report person -jsonout -
-op read -targets 1 data -dio -blocksize 1 -reqsize 100 -numreqs 2
-op read -targets 1 data -startoffset 99999999
-op read -targets 1 empty
-op read -targets 1 nosuch -numreqs 1
-op read -targets 1 dir -numreqs 1
-op read -targets 1 fifo -numreqs 1
-op write -targets 1 data
-op write -targets 1 nodir/new -numreqs 1
-op write -targets 1 note/new -numreqs 1
-op write -targets 2 new new -numreqs 1 -verify contents
-op write -targets 1 new -numreqs 1 -force nosuch
-op write -targets 1 new -numreqs 1 -preallocate x
-op write -op read -targets 2 new data -numreqs 1
-targets 1 data -numreqs 1
-op read -target data -op write -target note
-op read -targets 1 data -queuedepth 65536 -reqsize 2097152 -numreqs 1
tsread
tsread nosuch
tsread note
tsread -zzz
compare
compare nosuch nosuch
compare note note
compare -failif speed note note
"""
add("", BAD)

# Commands of several documents

add("", """
-numreqs 8 -csvout a.csv ;; -op read -targets 1 small -reqsize 4 -numreqs 4 -csvout b.csv ;; combine a.csv b.csv
-numreqs 8 -jsonout a.json -passes 3 -qthreadinfo ;; combine -csvout c.csv a.json a.json
-numreqs 8 -jsonout a.json -passes 3 -latency histogram ;; report -csv a.json
-numreqs 8 -jsonout a.json ;; report -o r.html a.json nosuch.json
-vary queuedepth=1,2 -numreqs 8 -passes 2 -jsonout a.json ;; compare a.json a.json
""", READ)
add("", """
combine
combine nosuch
combine note
report
report nosuch
report note
multi
multi nosuch -- -op read -targets 1 data
fio nosuch
fio --name=a --filename=data --rw=read --bs=4k --size=64k
fio --name=a --filename=data --rw=randrw --rwmixread=70 --bs=4k,8k --size=64k --iodepth=4
fio --name=a --filename=new --rw=write --bs=4k --size=64k --verify=crc32c
fio --name=a --rw=red
sh:printf '[global]\\nbs=4k\\nsize=64k\\n[a]\\nfilename=data\\nrw=read\\n' >a.fio ;; fio a.fio
sh:printf '[a]\\n-op read\\n-target data\\n-numreqs 4\\n[b]\\n-op read\\n-target nosuch\\n[c]\\n-op read\\n-target small\\n' >c ;; -setup c -keepgoing ;; -setup c -section a c
""")

# One rank, cuts of a pass, words of other programs

add("", """
-op read -targets 1 data -reqsize 4 -numreqs 8 -rank 1 -ranks 4 -verbose
-op read -targets 1 data -reqsize 4 -numreqs 8 -rank 4 -ranks 4
-op write -targets -2 new -reqsize 4 -blocksize 1k -blockperrank 16k -segments 2 -rank 0 -ranks 2 -rankspernode 1 -verbose
-op read -targets -2 data -reqsize 4 -blocksize 1k -blockperrank 16k -segments 2 -rank 0 -ranks 2 -rankspernode 1 -reorder
-op read -targets 1 data -reqsize 4 -numreqs 8 -reorder
-op read -targets 2 data small -reqsize 4 -stonewall -numreqs target 0 4 -numreqs target 1 60
-op write -targets 1 new -reqsize 4 -numreqs 8 -flushwrite 4 -flushbetween -osync -verbose
-op write -targets 1 new -reqsize 4 -numreqs 8 -odsync
-op read -targets 1 data -reqsize 4 -numreqs 8 -orsync -runid night
-op read -targets 1 data -reqsize 4 -numreqs 8 -attached output
-op read -targets 1 data -reqsize 4 -numreqs 8 -cookie 00
-op read -targets 1 data -reqsize 4 -numreqs 8 -congestion bbr
-op read -targets 1 data -reqsize 4 -numreqs 8 -restart file r
-help -mpi
-op read -targets 1 data -reqsize 4 -numreqs 8 -times 2
-op read -targets 1 data -reqsize 4 -numreqs 8 -quiet
-op read -targets 1 data -reqsize 4 -numreqs 8 -warmup 0.01 -quiet
-op read -targets 1 data -reqsize 4 -numreqs 8 -timeserver host nosuch.invalid
""")


# Commands by chance

def groups(line):
    """The options of a command, each with its values."""
    found = []
    for word in shlex.split(line):
        if re.match(r"-[a-z]", word):
            found.append([word])
        elif found:
            found[-1].append(word)
    return found


def changed(chance, group):
    """An option with a fault of the kinds that happen: a letter lost, a value lost, doubled or of another option."""
    group = list(group)
    place = chance.randrange(len(group))
    kind = chance.randrange(4)
    if kind == 0 and len(group[place]) > 3:
        at = chance.randrange(1, len(group[place]))
        group[place] = group[place][:at] + group[place][at + 1:]
    elif kind == 1 and place:
        del group[place]
    elif kind == 2 and place:
        group.insert(place, group[place])
    elif place:
        group[place] = chance.choice(("0", "-1", "1", "7", "4k", "1.5", "90%", "x", "99999999999", "read", "target"))
    return group


def by_chance(seed, count):
    """`count` commands: up to five options from different commands of the list; one option in eight has a fault."""
    chance = random.Random(seed)
    pool = []
    bad = set(BAD.splitlines())
    for line, flags in COMMANDS:
        if not flags & {"loop", "random"} and " ;; " not in line and line.startswith("-") and line not in bad:
            for group in groups(line):
                # A run with "passes until" ends by its measured figures: another one at another pass.
                fixed = group[0] in ("-op", "-target", "-targets", "-reqsize", "-numreqs") or "until" in group
                if not fixed and group not in pool:
                    pool.append(group)
    for _ in range(count):
        words = shlex.split(chance.choice((READ, READ, WRITE, NULL, TWO)) + ENOUGH)
        for group in chance.sample(pool, chance.randrange(1, 6)):
            words += changed(chance, group) if chance.randrange(8) == 0 else group
        yield shlex.join(words + ["-timelimit", "60"]), frozenset(["shared"])
