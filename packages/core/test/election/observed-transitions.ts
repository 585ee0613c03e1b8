import type { ElectorEvent } from '../../src/election/machine/event.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { transition } from '../../src/election/machine/transition.ts'
import { Fleet, type FleetOptions } from './fleet.ts'

type StateKind = ElectorState['kind']
type EventKind = ElectorEvent['kind']

/** Which states follow on which event in which state, as far as it was seen to happen. */
export class ObservedTransitions {
  readonly #seen = new Map<string, Set<StateKind>>()

  /** The states that were seen to follow. */
  after(state: StateKind, event: EventKind): readonly StateKind[] {
    return [...(this.#seen.get(`${state} ${event}`) ?? [])]
  }

  /** Every state and event that was seen. */
  get cells(): readonly (readonly [StateKind, EventKind])[] {
    return [...this.#seen.keys()].map((key) => key.split(' ') as [StateKind, EventKind])
  }

  /** Runs a disturbed fleet and takes down every step of its machines. */
  watchFleet(options: FleetOptions, ms: number): void {
    const fleet = new Fleet({
      ...options,
      machine: (_, state, event, context) => {
        const step = transition(state, event, context)
        this.#add(state.kind, event.kind, step.state.kind)
        return step
      },
    })
    fleet.run(ms, 60_000)
  }

  #add(from: StateKind, event: EventKind, to: StateKind): void {
    const key = `${from} ${event}`
    this.#seen.set(key, (this.#seen.get(key) ?? new Set()).add(to))
  }
}
