import { explainReplica, reportOf } from '../explain/explain-replicas.ts'
import type { ReplicaActions } from '../page/page-actions.ts'
import type { PageReplica } from '../page/page-server.ts'
import type { Terminal } from '../terminal.ts'
import { askPort } from './ask-ops-port.ts'
import type { DevLauncher } from './dev-launcher.ts'
import { type Fleet, isReplica, nameOfReplica } from './fleet.ts'
import type { FoundReplica } from './join-socket.ts'
import type { JoinedPrograms } from './joined-programs.ts'

/** The replicas that the page shows and acts on: those that `tenure dev` started, and programs that have joined. */
export class ShownReplicas implements ReplicaActions {
  /** The replicas of the program, once they run. */
  own: { readonly fleet: Fleet; readonly launcher: DevLauncher } | undefined
  joined: JoinedPrograms | undefined
  readonly #terminal: Terminal

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  get facts(): readonly PageReplica[] {
    return [...(this.own?.fleet.facts ?? []), ...(this.joined?.facts ?? [])]
  }

  kill(name: string): void {
    this.#actionsOf(name)?.kill(name)
  }

  togglePause(name: string): void {
    this.#actionsOf(name)?.togglePause(name)
  }

  toggleCut(name: string): void {
    this.#actionsOf(name)?.toggleCut(name)
  }

  /** A replica of this machine needs no port-forward: its operations port is asked directly. */
  readonly explain: typeof explainReplica = async (cluster, identity, stored) => {
    const found = this.joined?.find(identity) ?? this.started.find(identity)
    if (found !== undefined) return reportOf(identity, stored.name, askPort(found.opsPort, this.#terminal))
    if (this.own !== undefined && isReplica(identity)) return { identity, sentences: ['it has ended'] }
    return explainReplica(cluster, identity, stored)
  }

  /** Finds a replica that `tenure dev` started, by its identity; undefined for any other, and for an earlier process of one. */
  readonly started = {
    find: (identity: string): FoundReplica | undefined => {
      const launcher = this.own?.launcher
      return launcher?.isPresent(identity) ? { opsPort: launcher.opsPortOf(nameOfReplica(identity)) } : undefined
    },
    kill: (identity: string): void => this.own?.fleet.kill(nameOfReplica(identity)),
  }

  #actionsOf(name: string): ReplicaActions | undefined {
    return this.joined?.has(name) ? this.joined : this.own?.fleet
  }
}
