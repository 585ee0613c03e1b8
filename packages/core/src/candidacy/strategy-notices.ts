import { decidesItself, type ElectorConfig } from '../election/machine/config.ts'
import type { ElectorState } from '../election/machine/state.ts'
import type { Ranking } from '../election/rules/ranking.ts'
import { type Standby, readLeader, readStandbys } from '../election/rules/standby-note.ts'
import { successorOf } from '../election/rules/records.ts'
import { asStandby, rankingOf } from '../election/rules/standby.ts'
import type { LeaseRecord } from '../lock/lease-record.ts'
import type { PresentLease } from '../lock/lock.ts'
import type { Logger } from '../ports/logger.ts'

/** What came of the better candidates that a leader saw. */
export interface Preemptions {
  /** Terms that ended to let a better candidate lead. */
  readonly handedOver: number
  /** Candidates that were gone or did not answer, so that the leader stayed. */
  readonly unavailable: number
}

/** Logs why a strategy does not decide, once for each occurrence, and why a leader hands over. Counts what came of better candidates. */
export class StrategyNotices {
  readonly #log: { readonly logger: Logger; readonly lease: string }
  #seen: LeaseRecord | undefined
  #last: Ranking['kind'] | undefined
  #state: ElectorState | undefined
  /** The candidate of a coordinator that was found to be dead. */
  #dead: string | undefined
  #preemptions: Preemptions = { handedOver: 0, unavailable: 0 }

  constructor(log: { readonly logger: Logger; readonly lease: string }) {
    this.#log = log
  }

  /** What came of the better candidates that this replica saw while it led. */
  get preemptions(): Preemptions {
    return this.#preemptions
  }

  /** Checks the lease as the elector sees it now. */
  look(state: ElectorState, lease: PresentLease | undefined, config: ElectorConfig): void {
    if (config.strategy === undefined) return
    const { handedOver, unavailable } = this.#preemptions
    const successor = preemptedBy(state, this.#state, config)
    if (successor !== undefined) {
      this.#preemptions = { handedOver: handedOver + 1, unavailable }
      this.#handsOver(successor, lease, config)
    } else if (this.#isUnavailable(state, config)) this.#preemptions = { handedOver, unavailable: unavailable + 1 }
    this.#state = state
    if (lease === undefined || lease.record === this.#seen || !decidesItself(config)) return
    this.#seen = lease.record
    const { logger, lease: name } = this.#log
    const ranking = rankingOf(lease.record, asStandby(state.memory, config), config.strategy)
    const problem = rankingProblem(ranking, config)
    if (problem !== undefined && ranking.kind !== this.#last) {
      const fields = { lease: name, event: `strategy-${ranking.kind}`, strategy: config.strategy.name }
      logger.warn(fields, `${problem}. The revision decides who leads`)
    }
    this.#last = ranking.kind
  }

  /** Whether a better candidate has just turned out to be gone. */
  #isUnavailable(state: ElectorState, { preferred, coordination }: ElectorConfig): boolean {
    if (state.kind !== 'leading') return false
    const before = this.#dead
    this.#dead = coordination === 'server' && preferred?.isAlive === false ? preferred.identity : undefined
    if (this.#dead !== undefined) return this.#dead !== before
    const { missed } = state.memory
    return missed !== undefined && missed !== this.#state?.memory.missed
  }

  #handsOver(to: string, lease: PresentLease | undefined, config: ElectorConfig): void {
    const { strategy: own } = config
    const successor = lease && readStandbys(lease.record).find(({ identity }) => identity === to)
    const { logger, lease: name } = this.#log
    const { name: strategy, binaryVersion, emulationVersion } = own ?? {}
    const facts = successor && { successor: factsOf(successor) }
    const versions = successor === undefined ? '' : comparedVersions(successor, config)
    const who = decidesItself(config) ? strategy : 'the election controller of the API server'
    logger.info(
      { lease: name, event: 'handing-over', strategy, to, binaryVersion, emulationVersion, ...facts },
      `hands over to ${to}: ${who} prefers it${versions}`,
    )
  }
}

/** The better candidate for which a term has just begun to end; undefined if it has not, or for another reason. */
function preemptedBy(state: ElectorState, before: ElectorState | undefined, config: ElectorConfig): string | undefined {
  if (state.kind !== 'draining' || before?.kind !== 'leading') return undefined
  const { reason, to } = state.stepDown
  if (reason !== 'step-down') return undefined
  return decidesItself(config) ? before.proposal && to : successorOf(state.hold.lease.record, config)
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
  return explainRank(me, leader, { isBetter: ranking.isBetter, strategy: strategy.name })
}

/** Why this replica waits for a coordinator. `known` are the versions of the holder as it published them elsewhere than in the record. */
export function explainNaming(
  record: LeaseRecord | undefined,
  { identity, strategy }: ElectorConfig,
  known: Versions | undefined,
): string {
  const decides = 'The election controller of the API server decides who leads'
  if (record === undefined || record.holderIdentity === '') return `It waits to be chosen: nobody leads. ${decides}`
  const { holderIdentity, preferredHolder } = record
  const leader = readLeader(record)
  const other = leader?.binaryVersion === undefined ? known : leader
  const versions = strategy && other && versionsOf(other, strategy, strategy.name)
  const compared = versions === undefined ? '' : ` with ${versions.other}, this replica has ${versions.own}`
  const preferred = preferredHolder === identity ? `, and prefers this replica: ${holderIdentity} is to hand over` : ''
  return `It waits to be chosen: ${holderIdentity} leads${compared}. ${decides}${preferred}`
}

/** How this replica compares with the leader; undefined if neither is better. */
function explainRank(
  me: Standby,
  leader: Standby,
  { isBetter, strategy }: { readonly isBetter: (a: Standby, b: Standby) => boolean; readonly strategy: string },
): string | undefined {
  const { identity } = leader
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
  if (deciding === undefined) return undefined
  const [a, b] = [other[deciding], own[deciding]]
  return a === undefined || b === undefined ? undefined : { other: a, own: b }
}

function factsOf({ binaryVersion, emulationVersion, attributes }: Standby): object {
  return { binaryVersion, emulationVersion, attributes }
}
