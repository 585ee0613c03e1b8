import { type ChildProcess, spawn } from 'node:child_process'

// The last line read names the processes alive; the end of the input is the end of the process that writes it.
const script = `
while read -r line; do pids=$line; done
for pid in $pids; do kill -KILL "$pid"; done
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

/**
 * Ends processes and removes a folder if this process dies before it has done so, even by SIGKILL.
 *
 * A shell holds the other end of a pipe: it sees the end of this process whatever its cause, and it works for programs
 * that know nothing about it. It does nothing while this process lives.
 */
export class OrphanGuard {
  readonly #shell: ChildProcess
  readonly #pids = new Set<number>()

  private constructor(shell: ChildProcess) {
    this.#shell = shell
  }

  /** Starts to guard `folder`. Ends with `close()`. */
  static start(folder: string): OrphanGuard {
    // In a session of its own, so that Ctrl-C in a terminal does not reach it.
    const shell = spawn('/bin/sh', ['-c', script, 'orphan-guard', folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    shell.unref()
    // The guard may already have ended.
    shell.stdin.on('error', () => {})
    shell.on('error', () => {})
    return new OrphanGuard(shell)
  }

  /** Has this process killed with ours. */
  add(pid: number): void {
    this.#pids.add(pid)
    this.#announce()
  }

  /** Forgets a process that has ended. */
  delete(pid: number): void {
    this.#pids.delete(pid)
    this.#announce()
  }

  /** Ends the guard. It kills what it still guards, and removes the folder if it is still there. */
  close(): void {
    this.#shell.stdin?.end()
  }

  #announce(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`)
  }
}
