import type { Instant } from '../machine/event.ts'
import type { Following, Memory, Observation } from '../machine/state.ts'
import { holdBackMs } from '../rules/hold-back.ts'

/** Starts to follow. */
export function follow(
  memory: Memory,
  observation: Observation,
  at: Instant,
  pause: { readonly notBefore: number; readonly pollAt?: number },
): Following {
  return {
    kind: 'following',
    memory,
    observation,
    outstanding: [],
    reading: undefined,
    readingAfter: undefined,
    pollAt: pause.pollAt ?? (memory.watch === 'up' && !memory.isBehind ? undefined : at.now),
    notBefore: pause.notBefore,
    pause: 'cool-down',
    offer: undefined,
    announcement: undefined,
    holdBackMs: holdBackMs(at.random),
    leaveBy: undefined,
  }
}
