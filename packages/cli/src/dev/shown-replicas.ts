import { textOf } from '@tenure/core/internal'
import { explainReplica, type AskOps, sentencesOf } from '../explain/explain-replicas.ts'
import type { ReplicaActions } from '../page/page-actions.ts'
import type { PageReplica } from '../page/page-server.ts'
import type { DevLauncher } from './dev-launcher.ts'
import { type Fleet, isReplica, nameOfReplica } from './fleet.ts'
import type { JoinedPrograms } from './joined-programs.ts'

/** The replicas that the page shows and acts on: those that `tenure dev` started, and programs that have joined. */
export class ShownReplicas implements ReplicaActions {
  /** The replicas of the program, once they run. */
  own: { readonly fleet: Fleet; readonly launcher: DevLauncher } | undefined
  joined: JoinedPrograms | undefined

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

  /** A replica of this machine needs no proxy: its operations port is asked directly. */
  readonly explain: typeof explainReplica = async (cluster, identity, lease) => {
    const { joined } = this
    if (joined?.has(identity)) return reportOf(identity, (path) => joined.ask(identity, path))
    const launcher = this.own?.launcher
    if (launcher === undefined || !isReplica(identity)) return explainReplica(cluster, identity, lease)
    if (!launcher.isPresent(identity)) return { identity, sentences: ['it has ended'] }
    return reportOf(identity, async (path) => (await launcher.ask(nameOfReplica(identity), path)).text)
  }

  #actionsOf(name: string): ReplicaActions | undefined {
    return this.joined?.has(name) ? this.joined : this.own?.fleet
  }
}

async function reportOf(identity: string, ask: AskOps): ReturnType<typeof explainReplica> {
  const sentences = await sentencesOf(ask).catch((error: unknown) => [`it cannot be asked: ${textOf(error)}`])
  return { identity, sentences }
}
