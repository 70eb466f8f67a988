# simulate_lib.sh - what the tests of simulated trainings share; source it behind train_lib.sh.
#
#	simulate CONF ARGS...    like train, in virtual time
#	equal NAME ARGS...       NAME.cfg trained and simulated with ARGS ends in the same bits, or is refused alike

simulate() {
	code=0
	"$millrace" simulate "$@" >out 2>err || code=$?
}

equal() {
	conf=$1
	shift
	rm -rf real virtual
	train "$conf.cfg" "$@" --set run.dir=real
	want=$code
	simulate "$conf.cfg" "$@" --set run.dir=virtual
	expect "$want" "$conf $* simulated"
	if [ "$want" -eq 0 ]; then
		same "$conf $*" real virtual
	fi
}
