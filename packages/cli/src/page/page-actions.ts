import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { isJsonObject, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import type { ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease } from '../cluster/leases.ts'
import { explanation } from '../explain/explanation.ts'
import type { explainReplica } from '../explain/explain-replicas.ts'
import { handOver } from '../step-down/hand-over.ts'
import type { Terminal } from '../terminal.ts'

/** How long to wait for the next leader. */
const HANDOVER_MS = 60_000

/** What came of an action, as the command would print it. */
export interface ActionOutcome {
  readonly isDone: boolean
  readonly text: string
}

/** What the page does to the replicas of `tenure dev`. */
export interface ReplicaActions {
  kill(name: string): void
  togglePause(name: string): void
  toggleCut(name: string): void
}

/** Options of {@link PageActions}. */
export interface PageActionsOptions {
  readonly flags: ClusterFlags
  readonly terminal: Terminal
  /** Asks a replica that a lease names. */
  readonly askReplica: typeof explainReplica
  /** Undefined where this process runs no replicas. */
  readonly replicas: ReplicaActions | undefined
}

/** What the buttons of the page do: the same as the commands. */
export class PageActions {
  readonly #options: PageActionsOptions

  constructor(options: PageActionsOptions) {
    this.#options = options
  }

  /** The sentences of `tenure explain`. */
  explain(key: string): Promise<readonly string[]> {
    const { askReplica, terminal } = this.#options
    return this.#inNamespace(key, terminal, (cluster, name) => explanation({ cluster, name, askReplica }, terminal))
  }

  /** Carries out `{ action, lease, to? }` or `{ action, replica }`. @throws OptionsError for a malformed action */
  async act(body: unknown): Promise<ActionOutcome> {
    const order = isJsonObject(body) ? body : {}
    const action = stringAt(order, 'action') ?? ''
    const replica = stringAt(order, 'replica')
    const lease = stringAt(order, 'lease')
    if (replica !== undefined) return this.#onReplica(action, replica)
    if (lease === undefined || !['step-down', 'transfer'].includes(action))
      throw new OptionsError('Expected the action to be `step-down` or `transfer` of a lease')
    return this.#handOver(lease, action === 'transfer' ? successorIn(order) : undefined)
  }

  #onReplica(action: string, name: string): ActionOutcome {
    const { replicas } = this.#options
    const acts = replicas && {
      kill: () => replicas.kill(name),
      pause: () => replicas.togglePause(name),
      cut: () => replicas.toggleCut(name),
    }
    const act = acts !== undefined && Object.hasOwn(acts, action) ? acts[action as keyof typeof acts] : undefined
    if (act === undefined) throw new OptionsError('Expected the action to be `kill`, `pause` or `cut` of a replica')
    act()
    return { isDone: true, text: '' }
  }

  /** Collects what the command would print. */
  async #handOver(key: string, to: string | undefined): Promise<ActionOutcome> {
    const lines: string[] = []
    const say = (text: string): void => void lines.push(text.trim())
    const invocation = { terminal: { ...this.#options.terminal, out: say, err: say }, exitCode: 0 }
    try {
      await this.#inNamespace(key, invocation.terminal, async (cluster, name) =>
        handOver(
          cluster,
          await readLease(cluster, name),
          { to, timeoutMs: HANDOVER_MS, isDetached: false },
          invocation,
        ),
      )
    } catch (error) {
      return { isDone: false, text: textOf(error) }
    }
    return { isDone: invocation.exitCode === 0, text: lines.at(-1) ?? '' }
  }

  async #inNamespace<T>(
    key: string,
    terminal: Terminal,
    use: (cluster: Cluster, name: string) => Promise<T>,
  ): Promise<T> {
    const [namespace = '', name = ''] = key.split('/')
    if (name === '') throw new OptionsError('Expected a lease as `namespace/name`')
    const cluster = Cluster.open({ ...this.#options.flags, namespace }, terminal)
    try {
      return await use(cluster, name)
    } finally {
      await cluster[Symbol.asyncDispose]()
    }
  }
}

function successorIn(order: JsonObject): string {
  const to = stringAt(order, 'to')
  if (to !== undefined && to !== '') return to
  throw new OptionsError('Expected `to` to be the identity of the next leader')
}
