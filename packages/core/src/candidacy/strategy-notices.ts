import type { ElectorConfig } from '../election/machine/config.ts'
import type { ElectorState } from '../election/machine/state.ts'
import type { Ranking } from '../election/rules/ranking.ts'
import { type Standby, readLeader, readStandbys } from '../election/rules/standby-note.ts'
import { asStandby, rankingOf } from '../election/rules/standby.ts'
import type { LeaseRecord } from '../lock/lease-record.ts'
import type { PresentLease } from '../lock/lock.ts'
import type { Logger } from '../ports/logger.ts'

/** Logs why a strategy does not decide, once for each occurrence, and why a leader hands over. */
export class StrategyNotices {
  readonly #log: { readonly logger: Logger; readonly lease: string }
  #seen: LeaseRecord | undefined
  #last: string | undefined
  #state: ElectorState['kind'] = 'idle'

  constructor(log: { readonly logger: Logger; readonly lease: string }) {
    this.#log = log
  }

  /** Checks the lease as the elector sees it now. */
  look(state: ElectorState, lease: PresentLease | undefined, config: ElectorConfig): void {
    if (config.strategy === undefined) return
    if (state.kind === 'draining' && this.#state === 'leading') this.#handsOver(state.stepDown.to, lease, config)
    this.#state = state.kind
    if (lease === undefined || lease.record === this.#seen) return
    this.#seen = lease.record
    const { logger, lease: name } = this.#log
    const ranking = rankingOf(lease.record, asStandby(state.memory, config), config.strategy)
    const problem = rankingProblem(ranking, config)
    if (problem !== undefined && ranking.kind !== this.#last) {
      const fields = { lease: name, event: `strategy-${ranking.kind}`, strategy: config.strategy.name }
      logger.warn(fields, `${problem}. The revision decides who leads`)
    }
    this.#last = problem === undefined ? undefined : ranking.kind
  }

  #handsOver(to: string | undefined, lease: PresentLease | undefined, config: ElectorConfig): void {
    const successor = lease && readStandbys(lease.record).find(({ identity }) => identity === to)
    if (successor === undefined || config.strategy === undefined) return
    const { logger, lease: name } = this.#log
    const { name: strategy, binaryVersion, emulationVersion } = config.strategy
    const fields = { strategy, to, binaryVersion, emulationVersion, successor: factsOf(successor) }
    logger.info(
      { lease: name, event: 'handing-over', ...fields },
      `hands over to ${to}: ${strategy} prefers it${comparedVersions(successor, config)}`,
    )
  }
}

/** Why a strategy does not decide; undefined if it does. */
function rankingProblem(ranking: Ranking, { strategy }: ElectorConfig): string | undefined {
  if (ranking.kind === 'mismatch') {
    const { identity, strategy: other } = ranking.other
    return `${identity} follows ${other === undefined ? 'no strategy' : `the strategy ${other}`}, and this replica follows ${strategy?.name}`
  }
  if (ranking.kind === 'contradiction') return `\`compare\` of ${strategy?.name} decides nothing: ${ranking.problem}`
  return undefined
}

/** Why this replica follows rather than leads, as far as a strategy decides that; undefined if it does not. */
export function explainChoice(record: LeaseRecord, me: Standby, config: ElectorConfig): string | undefined {
  const { strategy } = config
  if (strategy === undefined) return undefined
  const ranking = rankingOf(record, me, strategy)
  const problem = rankingProblem(ranking, config)
  if (problem !== undefined) return `${problem}, so the revision decides who leads`
  if (ranking.kind === 'older-version') {
    const { identity, strategyVersion = 1 } = ranking.older
    return `${identity} knows version ${strategyVersion} of ${strategy.name}, and this replica version ${strategy.version}: the older one counts`
  }
  const leader = readLeader(record)
  if (ranking.kind !== 'strategy' || leader === undefined || leader.identity === me.identity) return undefined
  return explainRank(me, leader, ranking.isBetter)
}

/** How this replica compares with the leader; undefined if neither is better. */
function explainRank(me: Standby, leader: Standby, isBetter: (a: Standby, b: Standby) => boolean): string | undefined {
  const { identity, strategy = '' } = leader
  if (me.warm === false) return `It waits until its warm-ups are ready: ${identity} leads`
  if (isBetter(me, leader)) return `${strategy} prefers this replica: it waits until ${identity} hands over`
  if (!isBetter(leader, me)) return undefined
  const versions = versionsOf(leader, me, strategy)
  if (versions === undefined) return `It waits to be chosen: ${identity} leads, and ${strategy} prefers it`
  return `It waits to be chosen: ${identity} leads with ${versions.other}, this replica has ${versions.own}`
}

function comparedVersions(other: Standby, { strategy }: ElectorConfig): string {
  const versions = strategy && versionsOf(other, strategy, strategy.name)
  return versions === undefined ? '' : `: it has ${versions.other}, this replica has ${versions.own}`
}

type Versions = Pick<Standby, 'binaryVersion' | 'emulationVersion'>

/** The versions of two replicas that decide; undefined where none do. */
function versionsOf(other: Versions, own: Versions, strategy: string): { other: string; own: string } | undefined {
  if (strategy.includes('/')) return undefined
  const keys = ['emulationVersion', 'binaryVersion'] as const
  const inOrder = strategy === 'NewestVersion' ? keys.toReversed() : keys
  const deciding = inOrder.find((key) => other[key] !== own[key])
  const [a, b] = deciding === undefined ? [] : [other[deciding], own[deciding]]
  return a === undefined || b === undefined ? undefined : { other: a, own: b }
}

function factsOf({ binaryVersion, emulationVersion, attributes }: Standby): object {
  return { binaryVersion, emulationVersion, attributes }
}
