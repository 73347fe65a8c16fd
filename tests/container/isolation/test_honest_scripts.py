"""What public scripts do with processes, threads, files and locks: each does the same in a box and without one."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.container.helpers.boxed_scripts import answers
from tests.container.helpers.script_processes import write_script
from tests.helpers.thorough_values import one_in
from torpor_container.isolation.abilities import found
from torpor_container.processes import namespaces
from torpor_container.processes.zygote_client import ZygoteClient

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

WORK = """
import os
def square(number):
    return number * number
def send(end, value):
    end.send(value)
def add(value, lock):
    for _ in range(100):
        with lock:
            value.value += 1
def take(path):
    import fcntl
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("taken ")
"""
"""A module beside the script: processes that begin anew import it."""

PROGRAMS = {
    "a program": "out = subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout",
    "a program with its input": "out = subprocess.check_output(['sort', '-r'], input='a\\nb\\n', text=True)",
    "a program elsewhere": "out = subprocess.check_output('pwd', cwd='/usr', env={'PATH': os.environ['PATH']})",
    "a program that fails": "out = subprocess.run(['ls', '/nowhere'], capture_output=True).returncode",
    "a program that is not there": (
        "try: subprocess.run(['/usr/bin/no-such-program'])\nexcept FileNotFoundError as error: out = error.filename"
    ),
    "a program that takes too long": (
        "try: subprocess.run(['sleep', '60'], timeout=0.05)\nexcept subprocess.TimeoutExpired as error: out = 'ended'"
    ),
    "a conversation with a program": (
        "with subprocess.Popen(['cat'], stdin=-1, stdout=-1, text=True) as cat: out = cat.communicate('a\\nb')[0]"
    ),
    "a signal for a program": (
        "with subprocess.Popen(['sleep', '60']) as child: child.terminate(); out = child.wait()"
    ),
    "20 pipelines": (
        "run = lambda: subprocess.run('echo hi | tr h H | cat', shell=True, capture_output=True, text=True)\n"
        "out = {(one.stdout, one.returncode, one.stderr) for one in (run() for _ in range(20))}"
    ),
    "20 pipelines in bash": (
        "run = lambda: subprocess.run(['bash', '-c', 'set -o pipefail; (true); seq 50 | sort -n | tail -1'], "
        "capture_output=True, text=True)\nout = {(one.stdout, one.returncode) for one in (run() for _ in range(20))}"
    ),
    "jobs in a shell's background": (
        "out = subprocess.run('for i in 1 2 3 4 5 6 7 8; do (true) & done; wait; echo $?', shell=True, "
        "capture_output=True, text=True).stdout"
    ),
    "a shell that traps": "out = subprocess.check_output('trap \"echo bye\" EXIT; (exit 3); echo $?', shell=True)",
    "os.popen and os.system": "out = os.popen('echo hi | cat').read(), os.system('exit 3')",
    "os.posix_spawn": "pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 7'], {}); out = os.waitpid(pid, 0)[1] >> 8",
    "a Python of its own": "out = subprocess.check_output([sys.executable, '-c', 'print(6 * 7)'])",
    "a program's own process": "out = subprocess.check_output('head -1 /proc/self/status; ls /proc/self/fd', shell=True)",
}
PROCESSES = {
    "os.fork": "pid = os.fork()\nif not pid: os._exit(5)\nout = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
    "a pipe to a child": (
        "near, far = os.pipe()\nif not os.fork(): os.write(far, b'child'); os._exit(0)\nout = os.read(near, 9); os.wait()"
    ),
    "forks while signals come": (
        "import signal\nsignal.signal(signal.SIGCHLD, lambda *_: None)\n"
        "signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
        "made = []\nfor _ in range(60):\n    pid = os.fork()\n    if not pid: os._exit(0)\n    made.append(pid)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\nout = len([os.waitpid(pid, 0) for pid in made])\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_DFL)"
    ),
    "a pool of forks": (
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool: out = pool.map(work.square, range(5))"
    ),
    "a new process": (
        "import multiprocessing\nours, theirs = multiprocessing.Pipe()\n"
        "child = multiprocessing.get_context('spawn').Process(target=work.send, args=(theirs, 'hello'))\n"
        "child.start(); out = ours.recv(); child.join(); out = out, child.exitcode"
    ),
    "a queue": (
        "import multiprocessing\ncontext = multiprocessing.get_context('fork'); queue = context.Queue()\n"
        "child = context.Process(target=queue.put, args=([1, 2],)); child.start(); out = queue.get(); child.join()"
    ),
    "a shared value and its lock": (
        "import multiprocessing\ncontext = multiprocessing.get_context('fork'); value, lock = context.Value('i', 0), context.Lock()\n"
        "both = [context.Process(target=work.add, args=(value, lock)) for _ in range(2)]\n"
        "for one in both: one.start()\nfor one in both: one.join()\nout = value.value"
    ),
    "shared memory with a name": (
        "from multiprocessing.shared_memory import SharedMemory\nmade = SharedMemory(create=True, size=100)\n"
        "if not os.fork(): other = SharedMemory(made.name); other.buf[0] = 7; os._exit(0)\n"
        "os.wait(); out = made.buf[0]; made.close(); made.unlink()"
    ),
    "concurrent.futures of processes": (
        "from concurrent.futures import ProcessPoolExecutor\n"
        "with ProcessPoolExecutor(2) as pool: out = list(pool.map(work.square, range(4)))"
    ),
    "joblib with processes of its own": (
        "from joblib import Parallel, delayed\nout = Parallel(n_jobs=2)(delayed(work.square)(i) for i in range(4))"
    ),
    "joblib with forks": (
        "from joblib import Parallel, delayed\n"
        "out = Parallel(n_jobs=2, backend='multiprocessing')(delayed(work.square)(i) for i in range(4))"
    ),
    "psutil of itself": (
        "import psutil\nme = psutil.Process(); info = me.memory_info().rss > 0, me.name() > '', me.ppid() > 0\n"
        "out = info, psutil.virtual_memory().total > 0, psutil.cpu_count(), psutil.disk_usage('/').total > 0"
    ),
    "psutil of the machine": (
        "import psutil\nout = psutil.swap_memory().total >= 0, psutil.boot_time() > 0, len(psutil.cpu_times_percent()) > 3"
    ),
    "psutil in a child": (
        "code = 'import psutil; me = psutil.Process(); print(me.memory_info().rss > 0, me.num_threads(), me.num_fds() > 0)'\n"
        "out = subprocess.check_output([sys.executable, '-c', code])"
    ),
}
THREADS = {
    "threads and a lock": (
        "total, lock = [0], threading.Lock()\ndef add():\n    for _ in range(1000):\n        with lock: total[0] += 1\n"
        "all = [threading.Thread(target=add) for _ in range(4)]\n"
        "for one in all: one.start()\nfor one in all: one.join()\nout = total"
    ),
    "concurrent.futures of threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool: out = list(pool.map(work.square, range(4)))"
    ),
    "joblib with threads": (
        "from joblib import Parallel, delayed\n"
        "out = Parallel(n_jobs=2, backend='threading')(delayed(abs)(i) for i in (-1, -2))"
    ),
    "a forest with two jobs": (
        "from sklearn.ensemble import RandomForestClassifier\nmodel = RandomForestClassifier(5, n_jobs=2, random_state=0)\n"
        "out = model.fit([[0], [1]] * 9, [0, 1] * 9).predict([[0], [1]]).tolist()"
    ),
    "asyncio with a program": (
        "import asyncio\nasync def run():\n"
        "    child = await asyncio.create_subprocess_shell('echo a | cat; exit 4', stdout=-1)\n"
        "    return (await child.communicate())[0], child.returncode\nout = asyncio.run(run())"
    ),
    "asyncio with threads and processes": (
        "import asyncio\nfrom concurrent.futures import ProcessPoolExecutor\nasync def run():\n"
        "    with ProcessPoolExecutor(1) as pool:\n"
        "        other = await asyncio.get_running_loop().run_in_executor(pool, work.square, 3)\n"
        "    return other, await asyncio.to_thread(work.square, 4)\nout = asyncio.run(run())"
    ),
    "a handler of signals": (
        "import signal\ncame = []\nsignal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))\n"
        "os.kill(os.getpid(), signal.SIGUSR1); out = came"
    ),
    "an alarm that ends a wait": (
        "import signal\ndef late(number, frame): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.02)\ntry: time.sleep(60)\nexcept TimeoutError as error: out = error"
    ),
    "a stop and a resume": (
        "import signal\npid = os.fork()\nif not pid: os.kill(os.getpid(), signal.SIGSTOP); os._exit(3)\n"
        "_, first = os.waitpid(pid, os.WUNTRACED); os.kill(pid, signal.SIGCONT)\n"
        "out = os.WIFSTOPPED(first), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
    ),
    "a server and its client": (
        "import http.server, urllib.request\nserver = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\n"
        "threading.Thread(target=server.handle_request).start()\n"
        "try: urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/', timeout=20)\n"
        "except Exception as error: out = error.code\nserver.server_close()"
    ),
}
FILES = {
    "temporary files": (
        "with tempfile.NamedTemporaryFile('w+') as file: file.write('a'); file.seek(0); out = file.read()\n"
        "with tempfile.TemporaryDirectory() as made: open(made + '/x', 'w').close(); out += str(os.listdir(made))"
    ),
    "/tmp by its name": (
        "import shutil\nos.makedirs('/tmp/of-a-script', exist_ok=True); open('/tmp/of-a-script/x', 'w').close()\n"
        "out = os.listdir('/tmp/of-a-script'); shutil.rmtree('/tmp/of-a-script')"
    ),
    "modes and dates": (
        "open('a', 'w').close(); os.chmod('a', 0o640); os.utime('a', ns=(10 ** 18, 10 ** 18 + 7))\n"
        "with open('a') as file: os.fchmod(file.fileno(), 0o600)\n"
        "out = oct(os.stat('a').st_mode), os.stat('a').st_mtime_ns, os.stat('a').st_atime_ns"
    ),
    "the date now": "open('b', 'w').close(); os.utime('b', (0, 0)); os.utime('b'); out = os.stat('b').st_mtime > 10 ** 9",
    "dates of a link": (
        "os.symlink('nothing', 'l'); os.utime('l', (5, 6), follow_symlinks=False); out = os.lstat('l').st_mtime"
    ),
    "a mode by a folder's descriptor": (
        "os.mkdir('in'); open('in/a', 'w').close(); folder = os.open('in', os.O_RDONLY)\n"
        "os.chmod('a', 0o604, dir_fd=folder); out = oct(os.stat('in/a').st_mode); os.close(folder)"
    ),
    "copies": (
        "import shutil\nos.makedirs('from/deep'); open('from/deep/a', 'w').write('x'); os.chmod('from/deep/a', 0o751)\n"
        "os.utime('from/deep/a', (7, 8)); os.symlink('a', 'from/deep/l')\n"
        "shutil.copytree('from', 'to', symlinks=True); status = os.stat('to/deep/a')\n"
        "out = oct(status.st_mode), status.st_mtime, os.readlink('to/deep/l'), shutil.copy2('from/deep/a', 'again')"
    ),
    "copies by a program": (
        "open('p', 'w').write('x'); os.utime('p', (9, 9)); os.chmod('p', 0o700)\n"
        "subprocess.run('cp -a p q && chmod u-w q && touch -d @99 p && install -m 711 p r', shell=True, check=True)\n"
        "out = [(oct(os.stat(one).st_mode), os.stat(one).st_mtime) for one in 'pq'], oct(os.stat('r').st_mode)"
    ),
    "an archive": (
        "import tarfile\nopen('in-it', 'w').write('x'); os.chmod('in-it', 0o755); os.utime('in-it', (5, 5))\n"
        "with tarfile.open('t.tar.gz', 'w:gz') as tar: tar.add('in-it')\n"
        "with tarfile.open('t.tar.gz') as tar: tar.extractall('un')\n"
        "out = oct(os.stat('un/in-it').st_mode), os.stat('un/in-it').st_mtime"
    ),
    "an archive by a program": (
        "os.makedirs('z/y'); open('z/y/a', 'w').write('x'); os.utime('z/y', (3, 3))\n"
        "subprocess.run('tar cf z.tar z && rm -r z && tar xf z.tar', shell=True, check=True); out = os.stat('z/y').st_mtime"
    ),
    "a zip file": (
        "import zipfile\nwith zipfile.ZipFile('z.zip', 'w') as file: file.writestr('a/b', 'x')\n"
        "zipfile.ZipFile('z.zip').extractall('unzipped'); out = open('unzipped/a/b').read()"
    ),
    "attributes of a file": (
        "open('c', 'w').close(); os.setxattr('c', 'user.note', b'mine'); first = os.getxattr('c', 'user.note')\n"
        "os.removexattr('c', 'user.note'); out = first, os.listxattr('c')"
    ),
    "a database": (
        "import sqlite3\nbase = sqlite3.connect('a.db'); base.execute('pragma journal_mode=wal')\n"
        "base.execute('create table t (a)'); base.execute('insert into t values (7)'); base.commit()\n"
        "out = sqlite3.connect('a.db').execute('select a from t').fetchall()"
    ),
    "a lock between processes": (
        "import multiprocessing\ncontext = multiprocessing.get_context('fork')\n"
        "both = [context.Process(target=work.take, args=('lock',)) for _ in range(2)]\n"
        "for one in both: one.start()\nfor one in both: one.join()\nout = open('lock').read()"
    ),
    "a lock of a part": (
        "import fcntl\nfile = open('part', 'w'); fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)\n"
        "out = fcntl.lockf(file, fcntl.LOCK_UN), fcntl.fcntl(file, fcntl.F_GETFL) > 0"
    ),
    "a mapped file": (
        "import mmap\nopen('m', 'wb').write(bytes(4096)); file = open('m', 'r+b'); shared = mmap.mmap(file.fileno(), 4096)\n"
        "if not os.fork(): shared[0] = 9; os._exit(0)\nos.wait(); out = shared[0]; shared.flush()"
    ),
    "mapped memory": (
        "import mmap\nshared = mmap.mmap(-1, 4096)\nif not os.fork(): shared[1] = 8; os._exit(0)\nos.wait(); out = shared[1]"
    ),
    "arrays in files": (
        "import numpy, joblib\nmade = numpy.memmap('n', dtype='f4', mode='w+', shape=(3,)); made[:] = 2; made.flush()\n"
        "joblib.dump(numpy.ones(9), 'j'); out = numpy.fromfile('n', 'f4').sum(), joblib.load('j', mmap_mode='r').sum()"
    ),
    "a cache of joblib's": (
        "from joblib import Memory\ncached = Memory('cache', verbose=0).cache(work.square); out = cached(4), cached(4)"
    ),
    "a log that turns over": (
        "import logging.handlers\nlog = logging.getLogger('own'); log.propagate = False\n"
        "log.addHandler(logging.handlers.RotatingFileHandler('log', maxBytes=60, backupCount=2))\n"
        "for number in range(9): log.error('line %s', number)\nlogging.shutdown(); out = sorted(n for n in os.listdir() if 'log' in n)"
    ),
    "a watch of a folder": (
        "libc = ctypes.CDLL(None, use_errno=True); watched = libc.inotify_init1(0)\n"
        "added = libc.inotify_add_watch(watched, b'.', 0x100); open('seen', 'w').close()\n"
        "out = added, b'seen' in os.read(watched, 4096); os.close(watched)"
    ),
    "what system it is": (
        "import platform\nout = platform.system(), platform.freedesktop_os_release()['ID'], "
        "os.path.exists('/etc/debian_version') and open('/etc/debian_version').read()"
    ),
    "the processors": "out = os.cpu_count(), sorted(os.sched_getaffinity(0)), open('/proc/cpuinfo').read().count('processor')",
    "polls and pipes": (
        "import select\nnear, far = os.pipe(); poll = select.epoll(); poll.register(near, select.EPOLLIN); os.write(far, b'x')\n"
        "out = [event for _, event in poll.poll(20)], select.select([near], [], [], 20)[0] == [near]"
    ),
    "a file in memory": "made = os.memfd_create('a'); os.write(made, b'xyz'); out = os.fstat(made).st_size; os.close(made)",
    "the files of its output": "sys.stdout.write(''); os.fsync(os.open('own', os.O_CREAT | os.O_WRONLY)); out = os.isatty(1)",
}
SHAPES: Mapping[str, Mapping[str, str]] = {
    "programs": PROGRAMS,
    "processes": PROCESSES,
    "threads": THREADS,
    "files": FILES,
}
OF_CHILDREN = ("psutil in a child", "a program's own process", "joblib with processes of its own")
"""These read their own folders in /proc from processes that the script started: the view needs rights for that."""
OPEN = {"TORPOR_SCRIPT_NETWORK": "allow"}


@pytest.mark.parametrize("kind", one_in(2, SHAPES))
def test_a_script_does_in_its_box_what_it_does_without(zygote: ZygoteClient, tmp_path: Path, kind: str) -> None:
    shapes = dict(SHAPES[kind])
    if not namespaces.shows_processes():
        shapes = {name: source for name, source in shapes.items() if name not in OF_CHILDREN}
    told = dict[str, list[str]]()
    for box in ("true", "false"):
        folder = tmp_path / box
        write_script(folder / "models" / "own", WORK, "work.py")
        sources = [f"import work\n{source}" for source in shapes.values()]
        told[box] = answers(zygote, folder, sources, TORPOR_SCRIPT_BOX=box, **OPEN)
    assert dict(zip(shapes, told["true"], strict=True)) == dict(zip(shapes, told["false"], strict=True))
    failed = {name: said for name, said in zip(shapes, told["true"], strict=True) if "Error" in said or said == "None"}
    assert failed == {}


def test_an_error_at_a_wall_says_which_setting_moves_it(zygote: ZygoteClient, tmp_path: Path) -> None:
    walls = {
        "open('/etc/shadow')": "TORPOR_SCRIPT_READS names further places",
        "open('/proc/1/status')": "TORPOR_SCRIPT_READS=/proc",
        "import socket; socket.create_connection(('127.0.0.1', 9))": "TORPOR_SCRIPT_NETWORK",
        "held = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(20)]\n"
        "for one in held: one.start()": "TORPOR_SCRIPT_PROCESSES",
        "open('large', 'wb').write(bytes(2 << 20))": "TORPOR_SCRIPT_DISK_MIB",
    }
    told = answers(zygote, tmp_path, [*walls], TORPOR_SCRIPT_PROCESSES="12", TORPOR_SCRIPT_DISK_MIB="1")
    assert [setting in said.splitlines()[1] for setting, said in zip(walls.values(), told, strict=True)] == [True] * 5


def test_the_processes_of_the_machine_are_shown_where_a_setting_says_so(zygote: ZygoteClient, tmp_path: Path) -> None:
    source = f"out = open('/proc/{os.getpid()}/stat').read(1) != ''"
    assert answers(zygote, tmp_path, [source], TORPOR_SCRIPT_READS="/proc") == ["True"]
