/** Starts the leader election peers in Go that share a lease with a replica. */
import { EventEmitter, once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { locateProgram } from './build.ts'
import { OrphanGuard } from './orphan-guard.ts'
import { type ProcessExit, ServerProcess } from './server-process.ts'

/** The options of a peer. The default durations are those of Kubernetes components. */
export interface PeerOptions {
  /** Only client-go reports other leaders. */
  readonly program:
    | 'client-go-candidate'
    | 'client-go-elector'
    | 'client-go-1.33-elector'
    | 'controller-runtime-manager'
    | 'operator-lib-leader'
  /** The content of the kubeconfig. */
  readonly kubeConfig: string
  readonly namespace: string
  readonly lease: string
  /** The holder identity. Of operator-lib, the name of its Pod. */
  readonly id: string
  /** @default 15_000 */
  readonly leaseDurationMs?: number
  /** @default 10_000 */
  readonly renewDeadlineMs?: number
  /** Of operator-lib, the longest pause between two attempts, for which its own default is 16 s. @default 2_000 */
  readonly retryPeriodMs?: number
  /** Whether it releases the lease on SIGTERM. @default false */
  readonly release?: boolean
  /** What a candidate of coordinated leader election says of itself. @default 1.0.0, which emulates itself */
  readonly versions?: CandidateVersions
}

/** The semantic versions of a candidate. */
interface CandidateVersions {
  readonly binaryVersion: string
  readonly emulationVersion: string
}

/** A report of a peer. */
export interface PeerEvent {
  /** The wall clock of the peer, in microseconds since 1970. */
  readonly t: number
  readonly event: 'started-leading' | 'stopped-leading' | 'new-leader'
  /** The peer itself, or the new leader. */
  readonly id: string
}

/** How long to wait for an event, and of whom. */
export interface PeerWait {
  readonly id?: string
  readonly timeoutMs?: number
}

/**
 * Starts a peer.
 *
 * @throws Error when it cannot be run.
 */
export async function startPeer(options: PeerOptions): Promise<Peer> {
  const file = await locateProgram(options.program)
  const folder = await mkdtemp(join(tmpdir(), 'tenure-peer-'))
  const guard = OrphanGuard.start(folder)
  try {
    const kubeConfig = join(folder, 'kubeconfig')
    await writeFile(kubeConfig, options.kubeConfig, { mode: 0o600 })
    const journal = new PeerJournal()
    const process = await ServerProcess.start({
      name: options.program,
      file,
      args: peerArguments(options, kubeConfig),
      guard,
      onLine: (line) => journal.record(line),
    })
    return new Peer(process, journal, guard)
  } catch (error) {
    guard.close()
    throw error
  }
}

function peerArguments(options: PeerOptions, kubeConfig: string): string[] {
  return [
    `--kubeconfig=${kubeConfig}`,
    `--namespace=${options.namespace}`,
    `--lease=${options.lease}`,
    `--id=${options.id}`,
    `--lease-duration=${options.leaseDurationMs ?? 15_000}ms`,
    `--renew-deadline=${options.renewDeadlineMs ?? 10_000}ms`,
    `--retry-period=${options.retryPeriodMs ?? 2_000}ms`,
    `--release=${options.release ?? false}`,
    ...(options.program === 'client-go-candidate' ? candidateArguments(options.versions) : []),
  ]
}

function candidateArguments(versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' }): string[] {
  return [`--binary-version=${versions.binaryVersion}`, `--emulation-version=${versions.emulationVersion}`]
}

/** The events of a peer, in the order in which it printed them. */
class PeerJournal {
  readonly events: PeerEvent[] = []
  readonly #changes = new EventEmitter().setMaxListeners(0)

  record(line: string): void {
    this.events.push(JSON.parse(line))
    this.#changes.emit('change')
  }

  /** Has `changed()` fulfil without a new event. */
  end(): void {
    this.#changes.emit('change')
  }

  async changed(signal: AbortSignal): Promise<void> {
    await once(this.#changes, 'change', { signal })
  }
}

/** A running peer. It does not outlive this process. */
export class Peer implements AsyncDisposable {
  /** Its process, to pause, to kill, and to read what it logged. */
  readonly process: ServerProcess
  readonly #journal: PeerJournal
  #ended = false

  /** Use {@link startPeer}. */
  constructor(process: ServerProcess, journal: PeerJournal, guard: OrphanGuard) {
    this.process = process
    this.#journal = journal
    void this.#end(guard)
  }

  /** Its reports so far. */
  get events(): readonly PeerEvent[] {
    return this.#journal.events
  }

  /**
   * Fulfils with the first event of this kind, and of this identity if one is given, whether past or to come.
   *
   * @throws Error with what the peer logged when it ends before that, or `timeoutMs` (30 000) have passed.
   */
  async waitFor(event: PeerEvent['event'], { id, timeoutMs = 30_000 }: PeerWait = {}): Promise<PeerEvent> {
    const signal = AbortSignal.timeout(timeoutMs)
    for (;;) {
      const found = this.events.find((said) => said.event === event && (id === undefined || said.id === id))
      if (found !== undefined) return found
      if (this.#ended || signal.aborted) throw new Error(this.#describeSilence(event))
      await this.#journal.changed(signal).catch(() => {})
    }
  }

  /** Sends SIGTERM and fulfils with how it ended: with code 0, unless it had lost the lease before. */
  async terminate(): Promise<ProcessExit> {
    return await this.process.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminate()
  }

  async #end(guard: OrphanGuard): Promise<void> {
    await this.process.exited
    this.#ended = true
    this.#journal.end()
    guard.close()
  }

  #describeSilence(event: string): string {
    const state = this.#ended ? 'it ended' : 'it is running'
    return `Expected the peer to say ${event}, but ${state}, having said ${JSON.stringify(this.events)}\n${this.process.log}`
  }
}
