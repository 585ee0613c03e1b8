import { syncBuiltinESMExports } from 'node:module'
import { replaceProperty, type Undo, undoAll } from '@tenure/testing/internal'
import { actors } from '../actors.ts'
import { callSiteOf } from './call-site.ts'
import { type RealWorldCall, RealWorldError } from './real-world-error.ts'
import { allTraps, type Trap } from './traps.ts'

/** A watch for calls that leave the simulation. */
export interface RealWorldWatch {
  /** Whether simulated code has left the simulation. */
  readonly isTouched: boolean
  /** @throws RealWorldError if simulated code has left the simulation since the last check. */
  assertUntouched(): void
  /** Restores the original functions. */
  end(): void
}

/** One set of traps serves all watches: setting them takes about a millisecond. */
let watches = 0
let undo: Undo = () => {}
const calls = new Map<string, RealWorldCall>()

/**
 * Watches for calls that leave the simulation. It stops only code of a simulated replica. Other code in the process is unaffected.
 */
export function watchRealWorld(): RealWorldWatch {
  watches += 1
  if (watches === 1) undo = setTraps()
  return {
    get isTouched() {
      return calls.size > 0
    },
    assertUntouched() {
      const made = [...calls.values()]
      calls.clear()
      if (made.length > 0) throw new RealWorldError(made)
    },
    end() {
      watches -= 1
      if (watches > 0) return
      undo()
      syncBuiltinESMExports()
      calls.clear()
    },
  }
}

function setTraps(): Undo {
  const undos = allTraps().map(setTrap)
  syncBuiltinESMExports()
  return undoAll(undos)
}

type AnyFunction = (this: unknown, ...args: readonly unknown[]) => unknown

function setTrap(trap: Trap): Undo {
  const { target, key, isReal = () => true } = trap
  return replaceProperty(target as Record<string, AnyFunction>, key, (original) => {
    return function trapped(this: unknown, ...args: readonly unknown[]): unknown {
      if (actors.getStore() !== undefined && isReal(args)) refuse(trap)
      return new.target === undefined
        ? Reflect.apply(original, this, args)
        : Reflect.construct(original, args, new.target === trapped ? original : new.target)
    }
  })
}

function refuse({ call, instead }: Trap): never {
  const made: RealWorldCall = { call, instead, place: callSiteOf(new Error(call).stack ?? '') }
  calls.set(`${call} ${made.place}`, made)
  throw new RealWorldError([made])
}
