import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LeaseRecord } from '@tenure/core'
import type { LockModule } from './lock-fixture.ts'

/** A version of the lease that a process wrote: the base version and the new version. */
export interface Win {
  readonly base: bigint
  readonly version: bigint
}

/** The lease as another process sees it. */
export interface StoredLease {
  readonly kind: 'present' | 'absent'
  readonly version: bigint | undefined
  readonly record: LeaseRecord | undefined
}

/** Asks a process to update the current lease repeatedly for this long. */
export interface Contest {
  readonly kind: 'contend'
  readonly identity: string
  readonly forMs: number
}

type Request =
  | { readonly kind: 'get' | 'close' }
  | { readonly kind: 'create'; readonly record: LeaseRecord }
  | { readonly kind: 'update'; readonly base: bigint; readonly record: LeaseRecord }
  | Contest

/** A request to the process. */
export interface ProcessRequest {
  readonly id: number
  readonly request: Request
}

/** A message from the process. */
export type Answer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly failure: string | undefined }

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

const MAIN = fileURLToPath(new URL(`./lock-process-main${extname(import.meta.url)}`, import.meta.url))

/** A lock in a process of its own. Disposing it ends the process. */
export class LockProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #stderr: Buffer[] = []
  #nextId = 0

  private constructor({ module, argument, execArgv }: LockModule) {
    const args = [String(module), JSON.stringify(argument ?? null)]
    this.#child = fork(MAIN, args, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    this.#child.on('exit', (code, signal) =>
      this.#fail(new Error(`The process ended (${signal ?? code}): ${this.#words()}`)),
    )
    this.#child.on('message', (answer: Answer) => this.#settle(answer))
  }

  /** Starts a process; resolves when its lock is open. @throws Error when the module cannot be loaded. */
  static async start(module: LockModule): Promise<LockProcess> {
    const process = new LockProcess(module)
    await new Promise<unknown>((resolve, reject) => process.#waiting.set(-1, { resolve, reject }))
    return process
  }

  get(): Promise<StoredLease> {
    return this.#ask<StoredLease>({ kind: 'get' })
  }

  create(record: LeaseRecord): Promise<StoredLease> {
    return this.#ask<StoredLease>({ kind: 'create', record })
  }

  update(base: bigint, record: LeaseRecord): Promise<StoredLease> {
    return this.#ask<StoredLease>({ kind: 'update', base, record })
  }

  contend(identity: string, forMs: number): Promise<readonly Win[]> {
    return this.#ask<readonly Win[]>({ kind: 'contend', identity, forMs })
  }

  /** Kills the process at once, even in the middle of a write. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ask({ kind: 'close' }).catch(() => {})
    await this.kill()
  }

  async #ask<T>(request: Request): Promise<T> {
    const id = this.#nextId++
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#child.send({ id, request } satisfies ProcessRequest, (error) => {
      if (error !== null) this.#waiting.get(id)?.reject(error)
    })
    return (await answered) as T
  }

  #settle(answer: Answer): void {
    const id = answer.kind === 'ready' ? -1 : answer.id
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (answer.kind === 'failed') waiting?.reject(new Error(`${answer.failure ?? 'error'}: ${answer.message}`))
    else waiting?.resolve(answer.kind === 'done' ? answer.result : undefined)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  #words(): string {
    return Buffer.concat(this.#stderr).toString().slice(-500)
  }
}
