"""Hostile scripts: each does one harm when it is called, and in a box each gets an error of its own.

`{outside}` stands for a folder that is not the script's, with a file `s3/secret`; `{instance}` and `{zygote}` for
processes, and `{socket}` for the zygote's socket.
"""

from collections.abc import Iterator, Mapping

from benchmarks.hostile.files import Hostile

CALLED = "libc = ctypes.CDLL(None, use_errno=True)\nif libc.{call} < 0: raise OSError(ctypes.get_errno(), 'refused')"
"""A call of the C library, which raises as Python's own do."""

HARM: Mapping[str, str] = {
    "read a password": "open('/etc/shadow').read()",
    "list the home folder": "os.listdir(os.path.expanduser('~root'))",
    "read the object store": "open('{outside}/s3/secret').read()",
    "write beside the model": "open('../other/inference.py', 'w')",
    "write into the interpreter": "open(os.__file__, 'a')",
    "read by a link": "os.symlink('{outside}/s3/secret', 'link'); open('link').read()",
    "link a file in": "os.link('{outside}/s3/secret', 'hard')",
    "move the folder's neighbours": "os.rename('../other', 'mine')",
    "read by a program": "subprocess.run(['cat', '{outside}/s3/secret'], check=True)",
    "stop the guardian": "os.kill(os.getppid(), 19)",
    "kill the zygote": "os.kill({zygote}, 9)",
    "kill the instance": "os.kill({instance}, 9)",
    "trace its guardian": CALLED.format(call="ptrace(16, os.getppid(), 0, 0)"),
    "read a neighbour's environment": "open('/proc/{instance}/environ').read()",
    "read a neighbour's command": "open('/proc/{instance}/cmdline').read()",
    "write a neighbour's memory": "open('/proc/{instance}/mem', 'r+b')",
    "list processes": "open('/proc/{instance}/stat')",
    "list its guardian": "open(f'/proc/{os.getppid()}/status')",
    "limit a neighbour": "resource.prlimit({instance}, resource.RLIMIT_NOFILE, (1, 1))",
    "slow all down": "os.setpriority(os.PRIO_USER, 0, 19)",
    "slow a neighbour": "os.setpriority(os.PRIO_PROCESS, {instance}, 19)",
    "share memory with a neighbour": CALLED.format(call="shmget(0x746f72, 4096, 0o1600)"),
    "reach the zygote's socket": "socket.socket(socket.AF_UNIX).connect('{socket}')",
    "send a datagram within the machine": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "listen to the network card": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "reach the network": "socket.create_connection(('127.0.0.1', 9), 1)",
    "connect with the first data": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', 9))",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "use another transport than TCP": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    "listen": "socket.socket().listen()",
    "listen on a port": "socket.socket().bind(('127.0.0.1', 0))",
    "mount": CALLED.format(call="mount(b'/', b'/mnt', None, 4096, None)"),
    "take a namespace": CALLED.format(call="unshare(0x10000000)"),
    "use the kernel's keys": CALLED.format(call="syscall(250, 0, -3)"),
    "load a program into the kernel": CALLED.format(call="syscall(321, 0, 0, 0)"),
    "raise its memory limit": "resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))",
    "start threads without end": "for _ in range(100): threading.Thread(target=time.sleep, args=(1,)).start()",
    "start processes without end": "while True:\n    if not os.fork(): time.sleep(600)",
    "start orphans without end": """
while True:
    pid = os.fork()
    if not pid:
        try: os.fork() or time.sleep(600)
        except OSError: os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]: raise OSError("no room for an orphan")
""",
    "start siblings without end": """
libc = ctypes.CDLL(None, use_errno=True)
while True:
    pid = libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 0x8000 | 17, 0, 0, 0, 0)
    if not pid: time.sleep(600)
    if pid < 0: raise OSError(ctypes.get_errno(), 'refused')
""",
    "start a process that nobody traces": CALLED.format(
        call="syscall(56 if os.uname().machine == 'x86_64' else 220, 0x800000 | 17, 0, 0, 0, 0)"
    ),
    "open a neighbour to all": "os.chmod('../other', 0o777)",
    "set the mode of the interpreter's folder": "os.chmod(os.path.dirname(os.__file__), 0o755)",
    "lock the object store": "os.chmod('{outside}/s3/secret', 0)",
    "date the object store": "os.utime('{outside}/s3/secret', (0, 0))",
    "date it by a link": "os.symlink('{outside}/s3/secret', 'dated'); os.utime('dated', (0, 0))",
    "date it by a descriptor": "os.utime(os.open('{outside}/s3/secret', os.O_PATH))",
    "mark the object store": "os.setxattr('{outside}/s3/secret', b'user.x', b'y')",
    "make a program with the rights of its owner": "os.open('root', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "give a program the rights of its owner": "open('own', 'w'); os.chmod('own', 0o4755)",
    "lease a file of the interpreter": "import fcntl; fcntl.fcntl(open(os.__file__), 1024, 0)",
    "hide from its guardian": CALLED.format(call="prctl(4, 0, 0, 0, 0)"),
    "answer in its guardian's place": CALLED.format(call="syscall(317, 1, 8, 0)"),
    "fill a file": "open('big', 'wb').write(bytes(9 << 20))",
}
ENDS: Mapping[str, str] = {
    "fill the disk": "for n in range(20): open(f'f{n}', 'wb').write(bytes(1 << 20))\nwhile True: pass",
    "fill the disk with files that nobody sees": """
held = []
for n in range(20):
    held.append(open('gone', 'wb', 0)); os.unlink('gone'); held[-1].write(bytes(1 << 20))
while True: pass
""",
    "make files without end": "for n in range(900): open(f'f{n}', 'w').close()\nwhile True: pass",
    "make files where nobody may look": """
os.mkdir('d'); os.chdir('d'); os.chmod('.', 0o300)
for n in range(900): open(f'f{n}', 'w').close()
while True: pass
""",
    "make folders without end": "while True: os.mkdir('d'); os.chdir('d')",
    "share memory without end": """
import mmap
held = []
for _ in range(200): held.append(mmap.mmap(-1, 1 << 20)); held[-1].write(bytes(1 << 20))
while True: pass
""",
    "share memory that it has given back": """
import mmap
held = []
for _ in range(200):
    held.append(mmap.mmap(-1, 1 << 20)); held[-1].write(bytes(1 << 20)); held[-1].madvise(mmap.MADV_DONTNEED)
while True: pass
""",
    "keep files in memory": """
held = []
for _ in range(200): held.append(os.memfd_create('x')); os.write(held[-1], bytes(1 << 20))
while True: pass
""",
    "hold memory in many processes": """
for _ in range(6):
    if not os.fork(): held = os.urandom(40 << 20); time.sleep(600)
while True: pass
""",
}
"""These take too much, and are ended for it."""

SOURCE = """
import ctypes, os, resource, socket, subprocess, sys, tempfile, threading, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    exec({harm!r}, dict(globals()))
    return "harm done", "text/plain"
"""


def in_place(source: str, places: Mapping[str, object]) -> str:
    """The source with each place's name in braces replaced."""
    for name, place in places.items():
        source = source.replace(f"{{{name}}}", str(place))
    return source


def scripts(places: Mapping[str, object]) -> Iterator[Hostile]:
    """An artifact for each harm."""
    for name, harm in {**HARM, **ENDS}.items():
        source = SOURCE.format(harm=in_place(harm, places))
        yield Hostile(f"script, {name}", "code/inference.py", source.encode())
