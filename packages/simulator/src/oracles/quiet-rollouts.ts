import type { Rollout } from '../rollout/rollout.ts'
import type { Run } from '../run.ts'
import type { TermLife } from '../term-life.ts'
import type { Judge } from './oracle.ts'

/** After faults, the fleet gets this many lease durations to settle before a rollout counts as one without faults. */
const SETTLED_LEASES = 3

/** A rollout without faults, so far. */
interface QuietRollout extends Required<Pick<Rollout, 'what' | 'maxChanges' | 'isCrashing'>> {
  changes: number
}

/** The rollouts that begin and end in a calm period, under a leader that was there before. */
export class QuietRollouts {
  readonly #run: Run
  /** The present rollout; undefined between rollouts, and if a fault happened. */
  present: QuietRollout | undefined
  /** The last term that began. */
  leader: TermLife | undefined
  #calmSince = 0

  constructor(run: Run) {
    this.#run = run
  }

  /** The handlers that follow the rollouts. An oracle adds its own. */
  readonly judge: Judge = {
    calm: () => {
      this.#calmSince = this.#run.now
    },
    disturbed: () => {
      this.present = undefined
    },
    'rollout-began': ({ what, maxChanges, isCrashing = () => false }) => {
      const { isCalm, now, timing } = this.#run
      const isSettled = isCalm && now - this.#calmSince > SETTLED_LEASES * timing.leaseDurationMs
      const isLed = this.leader?.isOver === false && this.leader.process.isAlive
      const isCounted = isSettled && isLed && maxChanges !== undefined
      this.present = isCounted ? { what, maxChanges, isCrashing, changes: 0 } : undefined
    },
    'rollout-ended': () => {
      this.present = undefined
    },
  }
}
