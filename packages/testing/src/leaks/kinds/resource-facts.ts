import { isNodeFrame, isOwnFrame } from '../frame-owner.ts'
import type { Description } from '../ledger.ts'
import { rawFramesOf, type Trace } from '../trace.ts'

/** A resource of Node's own, as async hooks show it. */
export interface ResourceFacts {
  /** As Node names it: `Timeout`, `TCPWRAP`. */
  readonly type: string
  readonly resource: object
  readonly trace: Trace
}

/** The classification of a resource: `nothing` if it needs no cleanup, undefined if it is of another sort. */
export type Described = Description | 'nothing' | undefined

/** The modules of Node between the user and the creation, innermost first: `node:net`, `node:internal/child_process`. */
export function nodeModulesOf(trace: Trace): readonly string[] {
  const frames = rawFramesOf(trace).filter((frame) => !isOwnFrame(frame))
  const end = frames.findIndex((frame) => !isNodeFrame(frame))
  return (end < 0 ? frames : frames.slice(0, end)).map(({ file }) => file)
}

/** Whether a handle keeps the process alive; undefined where it does not say. */
export function isRefOf(resource: object): boolean | undefined {
  const hasRef: unknown = Reflect.get(resource, 'hasRef')
  return typeof hasRef === 'function' ? Boolean(hasRef.call(resource)) : undefined
}

/** The JavaScript object that a handle belongs to: the `Server` of a listening socket. */
export function ownerOf(resource: object): object | undefined {
  const symbol = Object.getOwnPropertySymbols(resource).find(({ description }) => description === 'owner_symbol')
  const owner: unknown = symbol === undefined ? undefined : Reflect.get(resource, symbol)
  return typeof owner === 'object' && owner !== null ? owner : undefined
}
