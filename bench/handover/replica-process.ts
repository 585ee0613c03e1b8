import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { type Access, replicaEnvironment } from '@tenure/test-control-plane'
import type { LeaseOptions } from 'tenure'

/** The settings of a replica process. */
export interface ReplicaSetup {
  readonly identity: string
  /** @default none */
  readonly revision?: string
  readonly lease: LeaseOptions & { readonly namespace: string }
  /** Whether a `lifeLock()` keeps the lease. @default false */
  readonly forLife?: boolean
  /** For a bare elector, which reads no kubeconfig. */
  readonly access?: Access
  /** Further variables of its environment. @default none */
  readonly env?: Readonly<Record<string, string>>
}

/** The messages from a replica process. `at` is on the monotonic clock of this machine, in milliseconds. */
export type ReplicaNews =
  | { readonly kind: 'follows' }
  /** Every check that `/readyz` serves passes. */
  | { readonly kind: 'ready' }
  /** `handoverMs`: since the lease was free, as this replica saw it. */
  | { readonly kind: 'term-began'; readonly handoverMs: number }
  | { readonly kind: 'wrote' }

type TimedNews = ReplicaNews & { readonly at: number }

/** How long a replica may take to tell something. */
const PATIENCE_MS = 60_000

/** A replica in another process, which ends with this process. */
export class ReplicaProcess {
  readonly #identity: string
  readonly #child: ChildProcess
  readonly #news: TimedNews[] = []
  readonly #changes = new EventEmitter()

  /** @param program the file of the program, by default a replica of Tenure */
  constructor(setup: ReplicaSetup, kubeConfigPath: string, program = join(import.meta.dirname, 'replica.ts')) {
    this.#identity = setup.identity
    this.#child = fork(program, [JSON.stringify(setup)], {
      // The packages as they were built, as users run them.
      execArgv: [],
      env: { ...replicaEnvironment(), KUBECONFIG: kubeConfigPath, ...setup.env },
    })
    this.#child.on('message', (news) => {
      this.#news.push(news as TimedNews)
      this.#changes.emit('news')
    })
    this.#child.once('exit', () => this.#changes.emit('news'))
  }

  /** The first news of this kind, past or to come. @throws Error when the process ends before, or after 60 s. */
  async told<K extends ReplicaNews['kind']>(kind: K): Promise<Extract<TimedNews, { kind: K }>> {
    return this.#told(kind, 0)
  }

  /** The next message of this kind. @throws Error like `told` */
  async next<K extends ReplicaNews['kind']>(kind: K): Promise<Extract<TimedNews, { kind: K }>> {
    return this.#told(kind, this.#news.length)
  }

  async #told<K extends ReplicaNews['kind']>(kind: K, from: number): Promise<Extract<TimedNews, { kind: K }>> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const isIt = (news: TimedNews): news is Extract<TimedNews, { kind: K }> => news.kind === kind
      const found = this.#news.slice(from).find(isIt)
      if (found !== undefined) return found
      if (this.#hasEnded) throw this.#silence(kind, 'but it ended')
      if (signal.aborted) throw this.#silence(kind, `within ${PATIENCE_MS} ms`)
      await once(this.#changes, 'news', { signal }).catch(() => {})
    }
  }

  #silence(kind: ReplicaNews['kind'], how: string): Error {
    const told = this.#news.map((news) => `${news.kind} at ${Math.round(news.at)}`).join(', ')
    return new Error(`Expected ${this.#identity} to tell \`${kind}\` ${how}. It told: ${told || 'nothing'}`)
  }

  /** Makes it step down. Returns the time on the monotonic clock, in milliseconds. */
  stepDown(): number {
    const at = monotonicMs()
    this.#child.send('step-down')
    return at
  }

  /** Sends the signal. Returns the time on the monotonic clock, in milliseconds. */
  end(signal: 'SIGTERM' | 'SIGKILL'): number {
    const at = monotonicMs()
    this.#child.kill(signal)
    return at
  }

  async exited(): Promise<void> {
    if (!this.#hasEnded) await once(this.#child, 'exit')
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
