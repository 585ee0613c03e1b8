import { rawFramesOf, type Trace } from '../trace.ts'
import { type Described, isRefOf, nodeModulesOf, ownerOf, type ResourceFacts } from './resource-facts.ts'

/** Processes, threads, ports, and whatever has a handle and no name here. */
export function describeOtherResource({ type, resource, trace }: ResourceFacts): Described {
  const isRef = isRefOf(resource)
  switch (type) {
    case 'PROCESSWRAP':
      return { kind: 'child-process', detail: childOf(resource), isRef }
    case 'WORKER':
      return { kind: 'worker', isRef }
    case 'MESSAGEPORT':
      return describePort(trace, isRef)
    case 'ZLIB':
      return { kind: 'handle', detail: 'a compression that was not ended' }
    case 'TTYWRAP':
    case 'SIGINTWATCHDOG': // Stays when `util.setTraceSigInt()` is taken back, which is followed as a setting.
      return 'nothing'
    default:
      if (isRef === undefined || REQUEST.test(type)) return { kind: 'request', detail: `\`${type}\`` }
      return { kind: 'handle', detail: `\`${type}\``, isRef }
  }
}

/** The handle of a compression is there until it is collected; its stream lets go of it when it is closed. */
export function isZlibGone(resource: object): boolean {
  const owner = ownerOf(resource)
  return owner === undefined || Reflect.get(owner, '_handle') !== resource
}

/**
 * A job of `node:crypto` that was done at once stays there until it is collected. A running job has a function to call, or a
 * promise of web crypto.
 */
export function isJobOver({ type, resource, trace }: ResourceFacts): boolean {
  if (!type.endsWith('REQUEST') || Reflect.get(resource, 'ondone') !== undefined) return false
  return !nodeModulesOf(trace).includes('node:internal/crypto/webcrypto')
}

const REQUEST = /REQ|^(?:TCPCONNECT|PIPECONNECT|UDPSEND|SHUTDOWN|WRITE|QUERY)WRAP$/

function describePort(trace: Trace, isRef: boolean | undefined): Described {
  const names = rawFramesOf(trace).filter(({ file }) => nodeModulesOf(trace).includes(file))
  if (names.some(({ file }) => file === 'node:internal/worker')) return { kind: 'worker', isRef, isPart: true }
  const isBroadcast = names.some(({ name }) => name.includes('BroadcastChannel'))
  return { kind: isBroadcast ? 'broadcast-channel' : 'message-port', isRef }
}

function childOf(resource: object): string {
  const child = ownerOf(resource)
  if (child === undefined) return ''
  const { pid, spawnfile } = child as { pid?: number; spawnfile?: string }
  return `\`${spawnfile ?? ''}\`, pid ${pid ?? 'unknown'}`
}
