# What init alone reaches on twelve tables, beside scikit-learn where it is there.   long_tables.sh SOURCE BUILD
source=$1
build=$2
python3 -c 'import sklearn, pandas' 2>/dev/null || {
	echo "scikit-learn and pandas are not there, beside which perf/tables.py puts the scores"
	exit 77
}
OMP_NUM_THREADS=1 python3 "$source/perf/tables.py" "$build/millrace"
