# SPDX-License-Identifier: GPL-2.0
# proves: random definitions of kprobe events are accepted if valid, and those with one mistake are refused with the error for it; the lists show what was accepted, hits are exact, and nothing is left over; none is lost if all CPUs define, switch and remove events at once
. "${0%/*}/../lib.sh" || exit 1

case $(uname -m) in
x86_64) more=%r15 ;;
i?86) more=%cx ;;
*) skip "knows the registers of x86 only" ;;
esac
# As in abuse.sh.
seed=${FUZZ_SEED:-1}
defs=${FUZZ_DEFS:-600}
echo "# FUZZ_SEED=$seed FUZZ_DEFS=$defs"
cd "$tmp" || exit
own target
load kprobe_target

# A line for each step, fields separated by tabs: "add NAME WHERE WANTED DEFINITION", where
# WANTED is "ok", part of a message, or "?"; "enable N", "disable N", "remove N", for the
# nth event of those that are there; "hit"; "check".
cat >grammar <<'END'
function r(n) { return int(rand() * n) }
function pick(list,    w, n) { n = split(list, w, " "); return w[1 + r(n)] }
function memory(depth) {
	if (depth > 2 || r(3) == 0)
		return pick("%di %si %sp %bp %ax " more " $stack $stack0 $stack7 @jiffies @init_task+16 @vfs_read $comm1") 
	return pick("+ -") pick("0 8 4096 65535") "(" memory(depth + 1) ")"
}
function base(    m) {
	do
		m = memory(1)
	while (m ~ /comm1/)
	return m
}
function fetch() {
	return pick("+ - +u -u") pick("0 1 8 16 4095 0x7fffffff") "(" base() ")"
}
function arg(n,    k) {
	k = r(10)
	if (k < 2) return "a" n "=" fetch() ":" pick("string ustring")
	# Arrays are not read from user memory.
	if (k < 4) return "a" n "=" pick("+ -") r(99) "(" base() "):" pick("u8 u16 u32 u64") "[" (1 + r(64)) "]"
	if (k < 5) return "a" n "=" fetch() ":b" (1 + r(8)) "@" r(8) "/" pick("16 32 64")
	if (k < 6) return "a" n "=" pick("$comm:string $comm \\17 \\-3:s32 \\0xff:x64 $stack:x64 $stack3")
	if (k < 7) return "a" n "=" base() ":symbol"
	if (k < 8) return base() == "" ? "" : "a" n "=" base()
	return "a" n "=" (r(2) ? base() : fetch()) ":" pick("u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64 char")
}
function args(max,    i, n, all) {
	n = r(max)
	for (i = 1; i <= n; i++)
		all = all " " arg(i)
	return all
}
# The place, in WHERE: whether the calls of "hit" hit it.
function place(ret,    k) {
	where = "add"
	k = r(8)
	if (k < 3) return "kprobe_target:kprobe_target_add"
	if (k < 4) return ret ? "kprobe_target:kprobe_target_add+0" : "kprobe_target:kprobe_target_add+" after
	where = "other"
	if (k < 5) return "kprobe_target:kprobe_target_recurse"
	if (k < 6) return "vfs_read"
	if (k < 7) return "0x" vfs_read
	return pick("do_sys_openat2 ksys_read vfs_write vfs_fallocate")
}
function valid(    ret, def, at) {
	ret = r(3) == 0
	def = ret ? pick("r r1 r100") : "p"
	# The default group is that of all probes.
	def = def ":" pick("kf/ kf. fz/") name
	if (!ret && r(6) == 0) {
		do
			at = place(1)
		while (at ~ /^0x/)
		return def " " at "%return" args(4)
	}
	def = def " " place(ret)
	# Of an address the parser does not know yet that it is an entry.
	if (ret)
		return def args(5) (r(2) && def !~ / 0x/ ? " rv=$retval" pick(":u8 :x64 :s32") : "")
	return def args(5) (def ~ /add$/ && r(2) ? " f1=$arg1 f2=$arg2:u8" : "")
}
function bad(what, d) { wanted = what; return d }
function mistake(    k, e, t) {
	e = "p:kf/" name " "
	t = "kprobe_target:kprobe_target_add "
	k = r(34)
	if (k == 0) return bad("Invalid probed address or symbol", e "no_such_function" args(3))
	if (k == 1) return bad("Invalid probed address or symbol", e "kprobe_target:no_such_function" args(3))
	if (k == 2) return bad("Probe point is not an instruction boundary", e "kprobe_target:kprobe_target_add+1")
	if (k == 3) return bad("The address is on the kprobe blacklist", e pick("kprobe_int3_handler exc_int3 get_kprobe"))
	if (k == 4) return bad("Retprobe address must be an function entry", "r:kf/" name " kprobe_target:kprobe_target_add+" after)
	if (k == 5) return bad("Maxactive is only for function exit", "p" (1 + r(9)) ":kf/" name " " t)
	if (k == 6) return bad("Maxactive is too big", "r" (4097 + r(100000)) ":kf/" name " " t)
	if (k == 7) return bad("Invalid maxactive number", "r" pick("1x 0x 9y 12_") ":kf/" name " " t)
	if (k == 8) return bad("Event name must follow the same rules", "p:kf/" pick("1 - a-b a*b é") "x" name " " t)
	if (k == 9) return bad("Group name must follow the same rules", "p:" pick("1g g+h g*") "/" name " " t)
	if (k == 10) return bad("Event name is too long", "p:kf/" sprintf("%070d", 0) "e " t)
	if (k == 11) return bad("Group name is too long", "p:g" sprintf("%070d", 0) "/" name " " t)
	if (k == 12) return bad("Invalid register name", e t "a=%" pick("nosuch zx r99 AX"))
	if (k == 13) return bad("$retval is not available on probe", e t "a=$retval")
	if (k == 14) return bad("Invalid stack number", e t "a=$stack" (99999 + r(99999)))
	if (k == 15) return bad("Unknown type is specified", e t "a=%ax:" pick("u7 int x128 strin"))
	if (k == 16) return bad("String accepts only memory argument", e t "a=%ax:string")
	if (k == 17) return bad("Dereference needs a brace", e t "a=+0%di")
	if (k == 18) return bad("Dereference brace is not closed", e t "a=+0(+8(%di)")
	if (k == 19) return bad("Invalid dereference offset", e t "a=+x(%di)")
	if (k == 20) return bad("Array is not closed", e t "a=+0(%di):u8[4")
	if (k == 21) return bad("Array number is too big", e t "a=+0(%di):u8[" (65 + r(1000)) "]")
	if (k == 22) return bad("Invalid array size", e t "a=+0(%di):u8[" pick("0 x -1") "]")
	if (k == 23) return bad("Invalid bitfield", e t "a=%di:b" pick("65@0/64 9@0/8 1@x/8 7@2/8"))
	if (k == 24) return bad("Argument name is not specified", e t "=%di")
	if (k == 25) return bad("Argument name must follow the same rules", e t pick("1 a-b a*") "=%di")
	if (k == 26) return bad("This argument name is already used", e t "a=%di b=%si a=%dx")
	if (k == 27) return bad("No argument expression", e t "a=")
	if (k == 28) return bad("Argument name is too long", e t "a" sprintf("%040d", 0) "=%di")
	if (k == 29) return bad("$comm can not be dereferenced", e t "a=+0($comm)")
	if (k == 30) return bad("Invalid immediate value", e t "a=\\x")
	if (k == 31) return bad("Invalid memory address", e t "a=@0x")
	if (k == 32) return bad("File offset is not available with kprobe", e t "a=@+16")
	return bad("String is not closed", e t "a=\\\"abc:string")
}
# Random characters of the language, or a valid definition with something changed.
function garbage(    d, n, i, c, at) {
	wanted = "?"
	if (r(3) == 0) {
		d = pick("p r - p: r: -: p:kf/x p12 rx")
		n = r(40)
		for (i = 0; i < n; i++)
			d = d substr(" :/+-()@$%=\\\"[]0123456789abcdefxpr_,.u", 1 + r(39), 1)
		return d
	}
	d = valid()
	n = 1 + r(3)
	for (i = 0; i < n; i++) {
		at = 1 + r(length(d))
		c = substr(" :/+-()@$%=\\\"[]09axz_.", 1 + r(23), 1)
		if (r(3) == 0) d = substr(d, 1, at - 1) substr(d, at + 1)
		else if (r(2)) d = substr(d, 1, at) c substr(d, at + 1)
		else d = substr(d, 1, at - 1) c substr(d, at + 1)
	}
	return d
}
BEGIN {
	srand(seed)
	for (i = 1; i <= defs; i++) {
		name = "e" i
		where = "none"
		wanted = "ok"
		k = r(10)
		def = k < 5 ? valid() : k < 8 ? mistake() : garbage()
		if (wanted != "ok")
			where = "none"
		gsub(/\t/, " ", def)
		printf "add\t%s\t%s\t%s\t%s\n", name, where, wanted, def
		if (r(3) == 0) printf "%s\t%d\n", pick("enable enable disable remove"), r(100000)
		if (i % 40 == 0) print "hit"
		if (i % 100 == 0) print "check"
	}
	print "hit"
	print "check"
}
END
vfs_read=$(awk '$3 == "vfs_read" { print $1 }' /proc/kallsyms)
find_target
awk -v seed="$seed" -v defs="$defs" -v vfs_read="$vfs_read" -v after="$after" -v more=$more -f grammar </dev/null >steps

# The events that exist, judging by the answers to the writes: "GROUP/NAME WHERE ENABLED" a line.
: >there
taken=0 refused=0 garbage=0 lines=0 hits=0 changed=0 bad=0

# Of one of a crowd: the group of its events. A list that others change may have a line twice,
# or lack one, where two reads of it meet. So only the folders of events are compared there.
group=
listed() { sed -n 's/^[pr][0-9]*:\([^ ]*\) .*/\1/p' "$1" | LC_ALL=C sort; }

# Only the list tells what garbage was accepted as. It may be a second probe of an event, or
# wait for a module: one that is not there, or any, if no symbol covers the address.
adopt()
{
	probes=$(grep -vc ' waits ' there)
	listed $tracing/kprobe_events >now
	kind=none
	[ "$(wc -l <now)" -le "$(wc -l <there)" ] || [ "$(wc -l <$kp/list)" -gt "$probes" ] ||
		kind=waits
	awk -v kind=$kind '
		FILENAME == "there" { where[$1] = $2; on[$1] = $3; next }
		{ n[$1]++; name[FNR] = $1; last = FNR }
		END {
			for (i = 1; i <= last; i++) {
				e = name[i]
				w = kind
				if (e in where)
					w = n[e] > 1 ? "none" : where[e]
				print e " " w " " (on[e] + 0)
			}
		}' there now >new
	mv new there
}

add()
{
	# shellcheck disable=SC2059
	if printf '%s\n' "$4" 2>/dev/null >>$tracing/kprobe_events; then
		case $3 in
		ok)
			taken=$((taken + 1))
			event=${4#*:}
			event=${event%% *}
			echo "${event%%[/.]*}/$1 $2 0" >>there
			;;
		'?')
			garbage=$((garbage + 1))
			adopt
			;;
		*) fail "'$4' was accepted, wanted '$3'" ;;
		esac
		return
	fi
	case $3 in
	ok) fail "'$4' was refused: $(tail -n 3 $tracing/error_log | head -n 1)" ;;
	'?') ;;
	*)
		refused=$((refused + 1))
		grep -qF "error: $3" $tracing/error_log ||
			fail "'$4': wanted '$3', got '$(sed -n 's/.*error: //p' $tracing/error_log | tail -n 1)'"
		;;
	esac
	[ -n "$group" ] || echo >$tracing/error_log
}

# nth N: sets event, where and enabled, if there is an event
nth()
{
	all=$(wc -l <there)
	[ "$all" -gt 0 ] || return 1
	line=$(sed -n "$(($1 % all + 1))p" there)
	event=${line%% *} enabled=${line##* }
	where=${line#* }
	where=${where%% *}
}

# Gives the line of $event the state $1, or removes the line. The name of garbage may not work
# as a pattern ("\t"), so compare names.
mark()
{
	e=$event state=$1 awk '
		$1 != ENVIRON["e"] { print; next }
		ENVIRON["state"] != "" { print $1, $2, ENVIRON["state"] }' there >new
	mv new there
}

# Garbage may have put the event in a group of its own, which has no file if its name is odd.
switch()
{
	nth "$1" || return
	if echo "$2" 2>/dev/null >"$tracing/events/$event/enable"; then
		mark "$2"
		changed=$((changed + 1))
	else
		fail "$event cannot be switched to $2"
	fi
}

remove()
{
	nth "$1" || return
	if echo "-:$event" 2>/dev/null >>$tracing/kprobe_events; then
		[ "$enabled" = 0 ] || fail "$event was removed while enabled"
		mark ""
	else
		[ "$enabled" = 1 ] || fail "$event was not removed"
	fi
	changed=$((changed + 1))
}

# Each event on the function counts each call if it is enabled, or none. Others of a crowd
# call the function, too.
hit()
{
	cat $tracing/kprobe_profile >before
	call add 7
	awk -v crowd="$group" '
		FILENAME == "there" { split($1, path, "/"); where[path[2]] = $2; on[path[2]] = $3; next }
		FILENAME == "before" { was[$1] = $2 + $3; next }
		# A call that began before an event was disabled may return after that.
		crowd && (!($1 in was) || !on[$1]) { next }
		where[$1] == "add" {
			n++
			got = $2 + $3 - was[$1]
			if (crowd ? got < 7 : got != (on[$1] ? 7 : 0)) print $1 ": " got " hits, enabled: " on[$1] >"bad"
		}
		END { print n + 0 }' there before $tracing/kprobe_profile >seen
	hits=$((hits + $(cat seen)))
	[ ! -s bad ] || { fail "$(head -n 3 bad)"; rm -f bad; }
}

check()
{
	awk '{ print $1 }' there | LC_ALL=C sort >wanted
	lines=$((lines + $(wc -l <wanted)))
	if [ -n "$group" ]; then
		find "$tracing/events/$group" -mindepth 1 -type d 2>/dev/null |
			sed 's,.*/events/,,' | LC_ALL=C sort >now
		cmp -s wanted now ||
			fail "events of $group: $(diff wanted now | grep '^[-+][^-+]' | head -n 3 | paste -sd' ')"
		return
	fi
	for file in kprobe_events dynamic_events; do
		listed $tracing/$file >now
		cmp -s wanted now ||
			fail "$file differs: $(diff wanted now | grep '^[-+][^-+]' | head -n 3 | paste -sd' ')"
	done
	# A probe for each event, or for none that waits.
	! alone || is "probes, and enabled ones" "$(wc -l <$kp/list) $(grep -vc DISABLED $kp/list)" \
		"$(awk '$2 != "waits" { n++; on += $3 } END { print n + 0, on + 0 }' there)"
}

# take: take the steps
tab=$(printf '\t')
take()
{
	while IFS=$tab read -r what one two three four; do
		case $what in
		add) add "$one" "$two" "$three" "$four" ;;
		enable) switch "$one" 1 ;;
		disable) switch "$one" 0 ;;
		remove) remove "$one" ;;
		*) $what ;;
		esac
		# Failures that follow from the first one are of no interest.
		[ ! -e failed ] || { bad=$((bad + 1)); rm -f failed; [ $bad -lt 10 ] || break; }
	done <steps
}

# crowd N: valid definitions in a group of its own, at the same time as those of others. Its
# failures and counts go to outN.
crowd()
{
	group=g$1
	mkdir "crowd$1"
	cd "crowd$1" || exit
	tmp=$PWD
	awk -v seed="$((seed * 100 + $1))" -v defs="$((defs / 2))" -v vfs_read="$vfs_read" \
		-v after="$after" -v more=$more -f ../grammar </dev/null |
		awk -F '\t' '$1 != "add" || $4 == "ok"' |
		sed "s/^\(add.*${tab}[pr][0-9]*:\)[kf][fz]\([/.]\)e/\1$group\2${group}e/
			s/^\(add$tab\)e/\1${group}e/" >steps
	: >there
	taken=0 lines=0 hits=0 changed=0 bad=0
	take
	echo "counts $taken $changed $hits"
}

echo >$tracing/error_log
take

printf '# %s %d\n' taken $taken refused $refused garbage_taken $garbage changed $changed \
	events_compared $lines counts_compared $hits
at_least "definitions that were taken" $taken $((defs / 3))
at_least "definitions that were refused" $refused $((defs / 5))
at_least "counts that were compared" $hits $((defs / 6))
at_least "events that were switched or removed" $changed $((defs / 6))
echo 0 >$tracing/events/enable
echo >$tracing/kprobe_events || fail "the events cannot be removed"
is "what is left" "$(cat $tracing/kprobe_events $tracing/dynamic_events 2>&1)" ""

taken=0 changed=0 hits=0
cpus=$(nproc)
# More would only wait for each other.
[ "$cpus" -le 8 ] || cpus=8
rm -rf crowd[0-9]* out[0-9]*
for i in $(seq "$cpus"); do
	crowd "$i" >"out$i" 2>&1 &
	pids="${pids:-} $!"
done
for pid in $pids; do
	wait "$pid" || fail "one of the crowd has ended early"
done
for i in $(seq "$cpus"); do
	grep -v '^counts ' "out$i" && fail "of the crowd, $i"
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^counts //p' "out$i")
	taken=$((taken + ${1:-0})) changed=$((changed + ${2:-0})) hits=$((hits + ${3:-0}))
	at_least "definitions of $i that were taken" "${1:-0}" $((defs / 6))
done
at_least "events of the crowd that were switched or removed" $changed $((defs / 20))
at_least "counts of the crowd that were compared" $hits $((defs / 20))
cat crowd*/there >there
is "events of the crowd" "$(listed $tracing/kprobe_events | wc -l)" "$(wc -l <there)"
! alone || is "probes of the crowd" "$(wc -l <$kp/list)" "$(wc -l <there)"
echo 0 >$tracing/events/enable
echo >$tracing/kprobe_events || fail "the events of the crowd cannot be removed"
is "what is left of the crowd" "$(cat $tracing/kprobe_events $tracing/dynamic_events 2>&1)" ""
no_probes
call add 1
alone || unload kprobe_target
give_back target
rm -rf grammar steps there new now wanted before seen out[0-9]* crowd[0-9]*
done_testing
