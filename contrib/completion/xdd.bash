# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for xdd. Generated from the tables of options, columns and commands by
# `make docs`; do not edit.
# shellcheck shell=bash

_xdd_options=' -targets -target -targetdir -dropcache -dio -createnewfiles -recreatefiles -reopen -deletefile -preallocate -pretruncate -syncwrite -osync -odsync -orsync -flushwrite -flushbetween -retry -reportthreshold -force -op -rwratio -blocksize -reqsize -numreqs -bytes -kbytes -mbytes -gbytes -queuedepth -startoffset -passoffset -targetoffset -seek -range -randomize -datapattern -verify -readback -ioengine -threads -sgio -ordering -serialordering -looseordering -noordering -memalign -sharedmemory -hugepages -numa -nomemlock -processlock -noproclock -hogmemory -maxpri -maxall -minall -processor -singleproc -roundrobin -passes -passdelay -startdelay -targetstartdelay -timelimit -warmup -runtime -throttle -operationdelay -snooze -nobarrier -stoponerror -maxerrors -maxerrorstoprint -lockstep -starttrigger -stoptrigger -syncio -starttime -timeserver -deskew -rank -ranks -rankspernode -attached -blockperrank -segments -reorder -stonewall -mpi -endtoend -restart -congestion -cookie -verbose -unverbose -reallyverbose -quiet -qthreadinfo -report -id -runid -output -errout -csvout -combinedout -jsonout -outputformat -percentcpu -heartbeat -latency -intervals -timestamps -timerinfo -extendedstats -debug -setup -section -keepgoing -dryrun -help -fullhelp -version'
_xdd_commands=' check combine compare copy curve fio gettime multi report sweep timeserver tsread'
_xdd_columns=' +WHAT +PASS +TARGET +QUEUE +BYTESXFERED +BYTESREAD +BYTESWRITTEN +OPS +READOPS +WRITEOPS +ERRORS +MISCOMPARES +ORDERBREAKS +RETRIES +BANDWIDTH +READBANDWIDTH +WRITEBANDWIDTH +IOPS +READIOPS +WRITEIOPS +LATENCY +ELAPSEDTIME1STOP +ELAPSEDTIMEPASS +OVERHEADTIME +PATTERNFILLTIME +BUFFERFLUSHTIME +FLUSHES +OPENTIME +CLOSETIME +PAGECACHED +HOLES +DESKEWTIME +DESKEWBANDWIDTH +DESKEWIOPS +TAILTIME +TAILBANDWIDTH +TAILIOPS +FAIRNESS +CPUTIME +PERCENTCPUTIME +USERTIME +SYSTEMTIME +PERCENTUSER +PERCENTSYSTEM +OPTYPE +XFERSIZEBYTES +XFERSIZEBLOCKS +XFERSIZEKBYTES +XFERSIZEMBYTES +NODENAME +DELIM +E2EIOTIME +E2ESRTIME +E2EPERCENTSRTIME +E2ELAGTIME +E2EPERCENTLAGTIME +E2EFIRSTREADTIME +E2ELASTWRITETIME +LONGEST +LONGESTOP +LONGESTOFFSET +LONGESTTYPE +SHORTEST +SHORTESTOP +SHORTESTOFFSET +SHORTESTTYPE +ID +STARTTIME +TARGETNAME +ENGINE +PATTERN +REQUESTEDIOPS +REQUESTEDBANDWIDTH +LATMIN +LATMEAN +LATSTDDEV +LATWAVG +LATP50 +LATP90 +LATP95 +LATP99 +LATP999 +LATP9999 +LATP99999 +LATMAX +READLATMIN +READLATMEAN +READLATSTDDEV +READLATWAVG +READLATP50 +READLATP90 +READLATP95 +READLATP99 +READLATP999 +READLATP9999 +READLATP99999 +READLATMAX +WRITELATMIN +WRITELATMEAN +WRITELATSTDDEV +WRITELATWAVG +WRITELATP50 +WRITELATP90 +WRITELATP95 +WRITELATP99 +WRITELATP999 +WRITELATP9999 +WRITELATP99999 +WRITELATMAX +RESPMIN +RESPMEAN +RESPSTDDEV +RESPWAVG +RESPP50 +RESPP90 +RESPP95 +RESPP99 +RESPP999 +RESPP9999 +RESPP99999 +RESPMAX +FLUSHLATMIN +FLUSHLATMEAN +FLUSHLATSTDDEV +FLUSHLATWAVG +FLUSHLATP50 +FLUSHLATP90 +FLUSHLATP95 +FLUSHLATP99 +FLUSHLATP999 +FLUSHLATP9999 +FLUSHLATP99999 +FLUSHLATMAX'

# The options of a command.
_xdd_command()
{
	case $1 in
	check) words=' -seconds -brief -help' ;;
	combine) words=' -jsonout -csvout -hosts -force -help' ;;
	compare) words=' -failif -help' ;;
	copy) words=' -recursive -preserve -contents -resume -trust -inplace -size -list -null -force -verify -dryrun -threads -blocksize -directdestination -directsource -ordered -encrypt -port -freeports -ssh -tty -remotexdd -localxdd -timeout -retries -quiet -log -jsonout -json -verbose -dump -help -version' ;;
	curve) words=' -load -goal -rounds -each -round -orderseed -restore -jsonout -csvout -columns -journal -resume -dryrun -help' ;;
	fio) words=' -run -output -leaveout -report -help' ;;
	gettime) words=' -timeserver -port -add -bounce -verbose -waitfortime -help' ;;
	multi) words=' -hosts -hostfile -slots -launcher -ssh -remotexdd -startin -timeserver -runid -timeout -grace -jsonout -out -quiet -dryrun -version -help' ;;
	report) words=' -output -csv -columns -plots -axis -noplots -help' ;;
	sweep) words=' -vary -pairs -mostrounds -until -rounds -each -round -orderseed -restore -jsonout -csvout -columns -journal -resume -dryrun -help' ;;
	timeserver) words=' -port -bind -foreground -help' ;;
	tsread) words=' -summary -detailed -normalize -csv -json -output -help' ;;
	nightly) words=' -failif -name -state -keep -expect -accept -help' ;;
	esac
}

# OPTION PLACE BEFORE: the words that may be in this place after the option, or the kind
# of file names. BEFORE is the word before.
_xdd_words()
{
	case $1 in
	-targetdir | -td)
		(($2)) || kind=-d
		;;
	-op | -operation)
		(($2)) || words='read write noop discard'
		;;
	-seek | -s)
		case $3 in
		random) words='once sequential random zipf range stagger interleave streams none seed save load disthist seekhist' ;;
		zipf) kind=none ;;
		range) kind=none ;;
		interleave) kind=none ;;
		seed) kind=none ;;
		save) kind=-f ;;
		load) kind=-f ;;
		disthist) kind=none ;;
		seekhist) kind=none ;;
		*) words='sequential random zipf range stagger interleave streams none seed save load disthist seekhist' ;;
		esac
		;;
	-datapattern | -dp)
		case $3 in
		prefix) kind=none ;;
		ascii) kind=none ;;
		hex) kind=none ;;
		file) kind=none ;;
		compress) kind=none ;;
		dedupe) kind=none ;;
		*) words='random randbytarget sequenced prefix inverse ascii hex replicate file lfpat ltpat cjtpat crpat cspat compress dedupe tagged' ;;
		esac
		;;
	-verify)
		case $3 in
		*) words='contents location' ;;
		esac
		;;
	-ioengine)
		case $3 in
		batch) kind=none ;;
		bufsize) kind=none ;;
		*) words='psync libaio io_uring sg mmap stdio null list batch fixedbufs fixedfiles sqpoll iopoll fua dpo touch bufsize unbuffered' ;;
		esac
		;;
	-ordering | -or | -order)
		case $3 in
		storage | stor | disk)
			words='serial loose strict none'
			;;
		network | net)
			words='serial loose strict none'
			;;
		both)
			words='serial loose strict none'
			;;
		*) words='storage network both serial loose strict none' ;;
		esac
		;;
	-throttle | -throt)
		case $3 in
		ops) kind=none ;;
		bw) kind=none ;;
		var) kind=none ;;
		delay) kind=none ;;
		*) words='ops bw var poisson delay' ;;
		esac
		;;
	-timeserver | -tsvr)
		case $3 in
		host) kind=none ;;
		port) kind=none ;;
		bounce) kind=none ;;
		maxerror) kind=none ;;
		wait) kind=none ;;
		*) words='host port bounce maxerror wait' ;;
		esac
		;;
	-attached)
		(($2)) || words='input output'
		;;
	-stonewall)
		case $3 in
		seconds) kind=none ;;
		save) kind=-f ;;
		load) kind=-f ;;
		*) words='first seconds wearout save load' ;;
		esac
		;;
	-endtoend | -e2e)
		case $3 in
		destination | dest | host) kind=none ;;
		port | baseport) kind=none ;;
		portcount) kind=none ;;
		timeout) kind=none ;;
		key) kind=-f ;;
		congestion) kind=none ;;
		sendbuffer) kind=none ;;
		receivebuffer) kind=none ;;
		sourcepath | srcpath) kind=-f ;;
		*) words='issource isdestination destination port portcount timeout key encrypt congestion sendbuffer receivebuffer sourcepath sourcemonitor' ;;
		esac
		;;
	-restart | -rst)
		case $3 in
		frequency | freq) kind=none ;;
		file) kind=none ;;
		offset | byteoffset) kind=none ;;
		*) words='enable frequency file trust offset' ;;
		esac
		;;
	-report)
		(($2)) || words='auto person table'
		;;
	-output | -o)
		(($2)) || kind=-f
		;;
	-errout | -eo)
		(($2)) || kind=-f
		;;
	-csvout | -csvo)
		(($2)) || kind=-f
		;;
	-combinedout | -combo)
		(($2)) || kind=-f
		;;
	-jsonout | -jsono)
		(($2)) || kind=-f
		;;
	-percentcpu | -pcpu)
		(($2)) || words='absolute relative'
		;;
	-heartbeat | -hb)
		case $3 in
		seconds) kind=none ;;
		output | out) kind=-f ;;
		*) words='seconds ops bytes kbytes mbytes gbytes bw iops pct etc latency target tod elapsed hostname lf output append' ;;
		esac
		;;
	-latency)
		case $3 in
		percentiles) words='percentiles histogram intervals output' ;;
		intervals) kind=none ;;
		output) kind=-f ;;
		*) words='percentiles histogram intervals output' ;;
		esac
		;;
	-intervals)
		case $3 in
		seconds) kind=none ;;
		output) kind=-f ;;
		prometheus) kind=-f ;;
		*) words='seconds output prometheus' ;;
		esac
		;;
	-timestamps | -ts | -timestamp)
		case $3 in
		output) kind=-f ;;
		dump) kind=-f ;;
		size) kind=none ;;
		triggertime | tt) kind=none ;;
		triggerop | to) kind=none ;;
		*) words='summary detailed output append dump wrap oneshot size triggertime triggerop normalize on off' ;;
		esac
		;;
	-setup)
		(($2)) || kind=-f
		;;
	-outputformat | -ofmt) words="add new $_xdd_columns" ;;
	-help | -h) words="columns$_xdd_commands ${_xdd_options// -/ } ${_xdd_columns// +/ }" ;;
	esac
}

_xddcp_options=' -recursive -preserve -contents -resume -trust -inplace -size -list -null -force -verify -dryrun -threads -blocksize -directdestination -directsource -ordered -encrypt -port -freeports -ssh -tty -remotexdd -localxdd -timeout -retries -quiet -log -jsonout -json -verbose -dump -help -version'
_xddcp_letters=' -r -P -c -R -i -F -0 -k -n -t -d -s -o -e -p -f -S -Y -b -l -q -O -J -v -w -h'

# OPTION: sets the kind of names that its value has.
_xddcp_value()
{
	case $1 in
	-size) kind=none value=yes ;;
	-threads | -t) kind=none value=yes ;;
	-blocksize) kind=none value=yes ;;
	-port | -p) kind=none value=yes ;;
	-ssh | -S) kind=none value=yes ;;
	-remotexdd | -b) kind=-f value=yes ;;
	-localxdd | -l) kind=-d value=yes ;;
	-timeout) kind=none value=yes ;;
	-retries) kind=none value=yes ;;
	-log | -O) kind=-f value=yes ;;
	-jsonout) kind=-f value=yes ;;
	esac
}

# Hosts that ssh knows, each with a colon.
_xddcp_hosts()
{
	local file

	for file in ~/.ssh/known_hosts /etc/ssh/ssh_known_hosts; do
		[[ -r $file ]] && sed -n 's/^\([^#|@ ,[*?][^ ,*?]*\)[ ,].*/\1:/p' "$file"
	done
	for file in ~/.ssh/config /etc/ssh/ssh_config; do
		[[ -r $file ]] && sed -n 's/^[Hh]ost[ \t]*//p' "$file" | tr -s ' \t' '\n' | sed -n '/[*?!]/d; s/$/:/p'
	done
}

# FIRST: offers the words of xddcp, which begin at word FIRST.
_xddcp_words()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' kind=-f dash='' user=''

	COMPREPLY=()
	# bash splits --log=file into three words.
	if [[ $cur == = ]]; then
		cur=''
	elif [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	# A path after a colon is on the other host.
	if [[ $cur == :* || $before == : || $cur == *:* ]]; then
		return
	fi
	((COMP_CWORD > $1)) && _xddcp_value "${before/#--/-}"
	if [[ $kind == -f && $cur == -* ]]; then
		words=$_xddcp_options
		[[ $cur == --* ]] || words+=$_xddcp_letters
		kind=none
	elif [[ $kind == -f && $cur != *[/]* && $words == '' && ! $value ]]; then
		words=$(_xddcp_hosts)
		[[ $cur == *@* ]] && user=${cur%@*}@ cur=${cur##*@} kind=none
	fi
	if [[ $cur == --* ]]; then
		dash=-
		cur=${cur#-}
	fi
	mapfile -t COMPREPLY < <(compgen -P "$dash$user" -W "$words" -- "$cur" | sort -u)
	[[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace 2>/dev/null
	if [[ $kind == -* ]]; then
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$kind" -- "$cur")
	fi
}

_xddcp()
{
	local value=''

	_xddcp_words 1
}

# COMMAND FIRST: offers the words of the command, which begin at word FIRST.
_xdd_starter_words()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' kind=-f dash='' i

	COMPREPLY=()
	for ((i = $2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			COMP_WORDS=(xdd "${COMP_WORDS[@]:i + 1}")
			COMP_CWORD=$((COMP_CWORD - i))
			_xdd
			return
		fi
	done
	if [[ $cur == -* ]]; then
		_xdd_command "$1"
	else
		case $1:${before/#--/-} in
		multi:-launcher) words='ssh srun mpirun pdsh' ;;
		nightly:-state) kind=-d ;;
		nightly:*) return ;;
		esac
	fi
	if [[ $cur == --* ]]; then
		dash=-
		cur=${cur#-}
	fi
	if [[ $words ]]; then
		mapfile -t COMPREPLY < <(compgen -P "$dash" -W "$words" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen "$kind" -- "$cur")
	fi
}

_xdd_multi()
{
	_xdd_starter_words multi 1
}

_xdd_nightly()
{
	_xdd_starter_words nightly 1
}

_xdd()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option='' words='' kind='' dash='' head='' value='' i first

	COMPREPLY=()
	# The option that the word belongs to, and the first word after it and its target.
	for ((i = COMP_CWORD - 1; i > 0; i--)); do
		if [[ ${COMP_WORDS[i]} == -[[:alpha:]-]* ]]; then
			option=${COMP_WORDS[i]/#--/-}
			break
		fi
	done
	first=$((i + 1))
	if ((first + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[first]} == target ]]; then
		first=$((first + 2))
	fi
	if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
		words=$_xdd_commands
		kind=-f
	elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == copy ]]; then
		_xddcp_words 2
		return
	elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == multi ]]; then
		_xdd_starter_words multi 2
		return
	elif ((COMP_CWORD > 1)) && [[ " $_xdd_commands " == *" ${COMP_WORDS[1]} "* ]]; then
		kind=-f
		if [[ $cur == -* ]]; then
			_xdd_command "${COMP_WORDS[1]}"
			kind=none
		fi
	elif [[ $cur == -* ]]; then
		words=$_xdd_options
		kind=none
	else
		_xdd_words "$option" $((COMP_CWORD - first)) "${COMP_WORDS[COMP_CWORD - 1]}"
	fi
	# Two dashes are as good as one, and columns are a list: +OPS+IOPS.
	if [[ $cur == --* ]]; then
		dash=-
		cur=${cur#-}
	elif [[ $cur == +*+* ]]; then
		head=${cur%+*}
		cur=+${cur##*+}
	fi
	if [[ $words ]]; then
		mapfile -t COMPREPLY < <(compgen -P "$dash$head" -W "$words" -- "$cur")
	fi
	if [[ $kind == -* ]]; then
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$kind" -- "$cur")
	elif [[ ! $kind && ! $words ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

# COMMAND: the options of a command that is a program as well.
_xdd_link()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words='' dash=''

	COMPREPLY=()
	[[ $cur == -* ]] || return
	_xdd_command "$1"
	if [[ $cur == --* ]]; then
		dash=-
		cur=${cur#-}
	fi
	mapfile -t COMPREPLY < <(compgen -P "$dash" -W "$words" -- "$cur")
}

_gettime()
{
	_xdd_link gettime
}

_timeserver()
{
	_xdd_link timeserver
}

complete -o filenames -F _xdd xdd xdd.Linux
complete -F _gettime gettime gettime.Linux
complete -F _timeserver timeserver timeserver.Linux
complete -o filenames -F _xdd_multi xdd-multi
complete -o filenames -F _xdd_nightly xdd-nightly
complete -o filenames -F _xddcp xddcp
