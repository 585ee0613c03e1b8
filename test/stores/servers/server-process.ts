import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { OrphanGuard } from '@tenure/test-control-plane'

/** How to start a server. */
export interface ServerStart {
  readonly program: string
  readonly args: readonly string[]
  /** What it says when it can be used. */
  readonly ready: string
  /** Removed with the server, should this process die before it stops it. */
  readonly folder: string
  /** @default that of this process */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

const STARTS_WITHIN_MS = 60_000

/** A server that runs until it is stopped, and not longer than this process. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #guard: OrphanGuard

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.#guard = OrphanGuard.start(folder)
    if (child.pid !== undefined) this.#guard.add(child.pid)
  }

  /** Starts a program; resolves when it can be used. @throws Error with all it said when it ends before, or takes too long */
  static async start({ program, args, ready, folder, user }: ServerStart): Promise<ServerProcess> {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], ...user })
    const server = new ServerProcess(child, folder)
    const started = Promise.withResolvers<void>()
    let output = ''
    const hear = (text: string) => {
      output = `${output}${text}`.slice(-10_000)
      if (output.includes(ready)) started.resolve()
    }
    const fail = (what: string) => started.reject(new Error(`${program} ${what}, saying: ${output}`))
    child.stdout.setEncoding('utf8').on('data', hear)
    child.stderr.setEncoding('utf8').on('data', hear)
    child.once('error', started.reject)
    child.once('close', () => fail('ended'))
    const timer = setTimeout(() => fail('did not get ready'), STARTS_WITHIN_MS)
    try {
      await started.promise
    } catch (error) {
      await server.stop('SIGKILL')
      throw error
    } finally {
      clearTimeout(timer)
    }
    return server
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill(signal)
      await once(this.#child, 'close')
    }
    if (this.#child.pid !== undefined) this.#guard.delete(this.#child.pid)
  }

  /** Removes the folder. */
  close(): void {
    this.#guard.close()
  }
}
