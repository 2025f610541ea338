# bash completion for xdd. Generated from the option table by `make docs`; do not edit.
# shellcheck shell=bash

_xdd()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	if ((COMP_CWORD >= 3)) && [[ ${COMP_WORDS[COMP_CWORD - 2]} == target ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 3]}
	fi
	case ${prev/#--/-} in
	-targetdir | -td)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	-op | -operation)
		mapfile -t COMPREPLY < <(compgen -W 'read write noop' -- "$cur")
		return
		;;
	-seek | -s)
		mapfile -t COMPREPLY < <(compgen -W 'sequential random range stagger interleave none seed save load disthist seekhist' -- "$cur")
		return
		;;
	-datapattern | -dp)
		mapfile -t COMPREPLY < <(compgen -W 'random randbytarget sequenced prefix inverse ascii hex replicate file lfpat ltpat cjtpat crpat cspat compress dedupe tagged' -- "$cur")
		return
		;;
	-verify)
		mapfile -t COMPREPLY < <(compgen -W 'contents location' -- "$cur")
		return
		;;
	-ioengine)
		mapfile -t COMPREPLY < <(compgen -W 'psync libaio io_uring sg mmap null list batch fixedbufs fixedfiles sqpoll iopoll fua dpo touch' -- "$cur")
		return
		;;
	-ordering | -or | -order)
		mapfile -t COMPREPLY < <(compgen -W 'storage network both serial loose strict none' -- "$cur")
		return
		;;
	-throttle | -throt)
		mapfile -t COMPREPLY < <(compgen -W 'ops bw var delay' -- "$cur")
		return
		;;
	-endtoend | -e2e)
		mapfile -t COMPREPLY < <(compgen -W 'issource isdestination destination port portcount timeout key encrypt congestion sendbuffer receivebuffer sourcepath sourcemonitor' -- "$cur")
		return
		;;
	-restart | -rst)
		mapfile -t COMPREPLY < <(compgen -W 'enable frequency file offset' -- "$cur")
		return
		;;
	-report)
		mapfile -t COMPREPLY < <(compgen -W 'auto person table' -- "$cur")
		return
		;;
	-output | -o)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-errout | -eo)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-csvout | -csvo)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-combinedout | -combo)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-jsonout | -jsono)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-percentcpu | -pcpu)
		mapfile -t COMPREPLY < <(compgen -W 'absolute relative' -- "$cur")
		return
		;;
	-heartbeat | -hb)
		mapfile -t COMPREPLY < <(compgen -W 'seconds ops bytes kbytes mbytes gbytes bw iops pct etc latency target tod elapsed hostname lf output append' -- "$cur")
		return
		;;
	-latency)
		mapfile -t COMPREPLY < <(compgen -W 'percentiles histogram intervals output' -- "$cur")
		return
		;;
	-intervals)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-timestamps | -ts | -timestamp)
		mapfile -t COMPREPLY < <(compgen -W 'summary detailed output append dump wrap oneshot size triggertime triggerop normalize on off' -- "$cur")
		return
		;;
	-setup)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-help | -h)
		cur=-${cur#-}
		;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-targets -target -targetdir -dropcache -dio -createnewfiles -recreatefiles -reopen -deletefile -preallocate -pretruncate -syncwrite -flushwrite -retry -reportthreshold -force -op -rwratio -blocksize -reqsize -numreqs -bytes -kbytes -mbytes -gbytes -queuedepth -startoffset -passoffset -targetoffset -seek -range -randomize -datapattern -verify -ioengine -threads -sgio -ordering -serialordering -looseordering -noordering -memalign -sharedmemory -hugepages -numa -nomemlock -processlock -noproclock -maxpri -maxall -minall -processor -singleproc -roundrobin -passes -passdelay -startdelay -targetstartdelay -timelimit -runtime -throttle -operationdelay -nobarrier -stoponerror -maxerrors -maxerrorstoprint -lockstep -starttrigger -stoptrigger -syncio -starttime -deskew -endtoend -restart -congestion -cookie -verbose -unverbose -reallyverbose -qthreadinfo -report -id -output -errout -csvout -combinedout -jsonout -outputformat -percentcpu -heartbeat -latency -intervals -timestamps -timerinfo -extendedstats -debug -setup -dryrun -help -fullhelp -version' -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

complete -o filenames -F _xdd xdd xdd.Linux
