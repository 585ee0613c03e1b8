import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const SHELL = '/bin/sh'

/**
 * Reads from the leader the token of its run (`=TOKEN`) and which groups exist (`+7`, `-7`), until its input ends: then the leader is dead,
 * and the guard kills these groups and every process of their sessions or with the token in its environment. `done` ends the guard without
 * that, and a guard without a token kills nothing.
 *
 * While a process starts another program, its environment is empty for a moment. If the place of the environment in memory changes while the
 * guard reads it, the guard looks again. It does not do so for kernel threads, whose session is 0, nor for processes older than itself, which
 * no leader of this run has started. It ends after three searches without a result: a process that ended during one of them may have started
 * another process that the search did not see.
 *
 * It uses only shell built-ins, because a container may have no other program.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
groups=' ' token=
while IFS= read -r line; do
  case $line in
    done) exit 0 ;;
    =*) token=\${line#=} ;;
    +*) groups="$groups\${line#+} " ;;
    -*) groups="\${groups%% \${line#-} *} \${groups#* \${line#-} }" ;;
  esac
done

read_stat() {
  IFS= read -r stat < "/proc/$1/stat" || return 1
  set -- \${stat##*) }
  session=$4 began=\${20} environ="\${25} \${48} \${49}"
  case $1 in [ZX]) return 1 ;; esac
}

in_session() {
  case $groups in *" $session "*) return 0 ;; esac
  return 1
}

has_token() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"$token"*) return 0 ;; esac
  done < "/proc/$1/environ"
  return 1
}

has_changed() {
  [ "$session" -ne 0 ] && [ "$began" -ge "$own" ] || return 1
  case $before in '0 '* | *' 0') return 0 ;; esac
  read_stat "$1" || return 0
  [ "$environ" != "$before" ]
}

[ -n "$token" ] || exit 0
read_stat $$
own=$began
for group in $groups; do kill -s KILL -- "-$group"; done
rounds=0
quiet=0
while [ "$rounds" -lt 100 ] && [ "$quiet" -lt 3 ]; do
  quiet=$((quiet + 1))
  for entry in /proc/[0-9]*; do
    pid=\${entry#/proc/}
    [ -r "$entry/environ" ] || continue
    read_stat "$pid" || continue
    before=$environ
    if in_session || has_token "$pid"; then
      kill -s KILL "$pid" && quiet=0
    elif has_changed "$pid"; then
      quiet=0
    fi
  done
  rounds=$((rounds + 1))
done
`

/**
 * A separate process that outlives this one for a moment. If this process ends without `close()`, by SIGKILL or a crash, the guard kills
 * the groups that were added and every process with the token in its environment.
 *
 * It does not act while this process is only paused. PID 1 of a container needs no guard: the kernel kills all other processes with it.
 */
export class ProcessGuard {
  readonly #shell: ChildProcess | undefined

  /** Starts the guard if one is needed and possible. */
  constructor(token: string) {
    this.#shell = takePrepared() ?? (isNeeded() ? start() : undefined)
    this.#tell(`=${token}`)
  }

  add(group: number): void {
    this.#tell(`+${group}`)
  }

  delete(group: number): void {
    this.#tell(`-${group}`)
  }

  /**
   * Ends the guard. The processes that it guards must have ended. Nobody waits for its exit, so that it does not delay the release of the
   * lease: without groups and without a process that has the token, it does nothing, even if this process dies first.
   */
  close(): void {
    this.#shell?.stdin?.end('done\n')
  }

  #tell(line: string): void {
    if (this.#shell?.stdin?.writable === true) this.#shell.stdin.write(`${line}\n`)
  }
}

/** A guard for the next run of this process. */
let prepared: ChildProcess | undefined

/**
 * Starts the guard of the next run in advance, because the first child of a run waits for it. Does nothing if there is one. The returned
 * function ends it, if no run has taken it.
 */
export function prepareProcessGuard(): () => void {
  const shell = (prepared ??= isNeeded() ? start() : undefined)
  return () => {
    if (shell === undefined || prepared !== shell) return
    prepared = undefined
    shell.stdin?.end('done\n')
  }
}

/** Undefined if there is none, or if it has ended. */
function takePrepared(): ChildProcess | undefined {
  const shell = prepared
  prepared = undefined
  return shell?.exitCode === null && shell.signalCode === null ? shell : undefined
}

function isNeeded(): boolean {
  if (process.platform === 'win32' || process.pid === 1) return false
  if (existsSync(SHELL)) return true
  process.emitWarning(`There is no ${SHELL}: if this process is killed, the child processes of its term keep running`, {
    code: 'TENURE_NO_GUARD',
    detail: `Add a shell to the image, or run this process as PID 1 of its container.`,
  })
  return false
}

function start(): ChildProcess {
  // In a session of its own, Ctrl-C in a terminal does not reach it.
  const shell = spawn(SHELL, ['-c', SCRIPT, 'tenure-guard'], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  // It could not be started.
  shell.on('error', () => {})
  const { stdin } = shell
  // A broken pipe: the guard was killed.
  stdin.on('error', () => {})
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return shell
}
