import type { ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { type explainReplica, explainReplicaOf } from '../explain/explain-replicas.ts'
import { followLeases } from '../status/lease-stream.ts'
import type { Terminal } from '../terminal.ts'
import { sightings } from '../watch/sightings.ts'
import { LeaseBoard } from './lease-board.ts'
import { PageActions, type ReplicaActions } from './page-actions.ts'
import { type PageReplica, type PageServer, startPage } from './page-server.ts'
import { pageToken } from './page-token.ts'

/** What a page of a cluster shows, and what it may do. */
export interface ClusterPageOptions {
  readonly flags: ClusterFlags
  readonly allNamespaces: boolean
  readonly allowsActions: boolean
  readonly port: number
  /** Whether another free port will do if this one is in use. @default false */
  readonly orFreePort?: boolean
  readonly terminal: Terminal
  /** Asks a replica that a lease names. @default through port-forwards */
  readonly askReplica?: typeof explainReplica
  /** The replicas that this process runs. @default none */
  readonly fleet?: () => (ReplicaActions & { readonly facts: readonly PageReplica[] }) | undefined
}

/** The page of one cluster: its server, and the stream of leases that it shows. */
export class ClusterPage implements AsyncDisposable {
  readonly server: PageServer
  readonly #options: ClusterPageOptions
  readonly #cluster: Cluster
  readonly #board: LeaseBoard

  private constructor(options: ClusterPageOptions, parts: { cluster: Cluster; board: LeaseBoard; server: PageServer }) {
    this.#options = options
    this.#cluster = parts.cluster
    this.#board = parts.board
    this.server = parts.server
  }

  /** Starts the server of the page. @throws OptionsError if the port is in use; KubeConfigError if there is no cluster to show */
  static async open(options: ClusterPageOptions): Promise<ClusterPage> {
    const { flags, terminal, allowsActions, port, orFreePort = false, fleet = () => undefined } = options
    const cluster = Cluster.open(flags, terminal)
    const board = new LeaseBoard(terminal)
    const replicas: ReplicaActions = {
      kill: (name) => fleet()?.kill(name),
      togglePause: (name) => fleet()?.togglePause(name),
      toggleCut: (name) => fleet()?.toggleCut(name),
    }
    const { askReplica = explainReplicaOf(terminal) } = options
    const actions = new PageActions({ flags, terminal, askReplica, replicas: options.fleet && replicas })
    try {
      const server = await startPage({
        board,
        actions,
        allowsActions,
        replicas: () => fleet()?.facts ?? [],
        title: cluster.server,
        token: pageToken(terminal),
        port,
        orFreePort,
        terminal,
      })
      return new ClusterPage(options, { cluster, board, server })
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Follows the leases until the command is interrupted. @throws the first failure if the API server never answered */
  async follow(): Promise<void> {
    const { allNamespaces, terminal } = this.#options
    const cluster = this.#cluster
    const namespace = allNamespaces ? '' : cluster.namespace
    const take = sightings((sighting) => this.#board.take(sighting), terminal)
    const err = (text: string): void => {
      this.server.showProblem(text.startsWith('Lost') ? text.trim() : '')
      terminal.err(text)
    }
    await followLeases({ cluster, namespace, name: undefined, ...take }, { ...terminal, err })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#board[Symbol.dispose]()
    await this.server.stop()
    await this.#cluster[Symbol.asyncDispose]()
  }
}
