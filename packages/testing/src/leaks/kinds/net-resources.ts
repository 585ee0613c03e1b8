import { Server as HttpServer } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { LeakKind } from '../leak-kind.ts'
import type { Pools } from '../pools.ts'
import { rawFramesOf, type Trace } from '../trace.ts'
import { type Described, isRefOf, nodeModulesOf, ownerOf, type ResourceFacts } from './resource-facts.ts'

/** Servers and sockets of every sort. */
export function describeNetResource({ type, resource, trace }: ResourceFacts): Described {
  const kind = kindOf(type, resource, trace)
  if (kind === undefined || kind === 'nothing') return kind
  if (kind === 'child-process') return { kind, isPart: true, isRef: isRefOf(resource) }
  const detail = addressOf(ownerOf(resource) ?? resource)
  // TLS of a pooled connection is a part of it, also for those who ignore such connections.
  return { kind, detail, isRef: isRefOf(resource), isPart: type === 'TLSWRAP' && kind === 'keep-alive-socket' }
}

function kindOf(type: string, resource: object, trace: Trace): LeakKind | 'nothing' | undefined {
  switch (type) {
    case 'TCPSERVERWRAP':
      return serverKind(ownerOf(resource), 'tcp-server')
    case 'PIPESERVERWRAP':
      return serverKind(ownerOf(resource), 'unix-server')
    case 'UDPWRAP':
      return 'datagram-socket'
    case 'TLSWRAP':
      return isPooled(trace) ? 'keep-alive-socket' : 'tls-socket'
    case 'TCPWRAP':
      return socketKind(trace)
    case 'PIPEWRAP':
      return pipeKind(trace)
    default:
      return undefined
  }
}

/** The wrapper of a TLS socket stays until it is collected; the socket says when it is closed. */
export function isTlsGone(resource: object): boolean {
  const owner = ownerOf(resource)
  return owner === undefined || Reflect.get(owner, 'destroyed') === true
}

/** Whether this may be a connection of a pool. */
export function isConnection(type: string): boolean {
  return type === 'TCPWRAP' || type === 'PIPEWRAP' || type === 'TLSWRAP'
}

/** Pools let the process end while a connection is unused: idle connections are unref'd. */
export function isIdleInSharedPool({ resource, trace }: ResourceFacts, pools: Pools, since: number): boolean {
  if (!isPooled(trace)) return false
  const owner = ownerOf(resource)
  return owner !== undefined && !isInUse(resource, owner) && !pools.isMadeSince(owner, since)
}

/** TLS is over a handle of its own, which knows. */
function isInUse(resource: object, owner: object): boolean {
  const handle: unknown = Reflect.get(owner, '_handle')
  const parent: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, '_parent') : undefined
  const transport = typeof parent === 'object' && parent !== null ? parent : resource
  return isRefOf(transport) !== false
}

function serverKind(owner: object | undefined, otherwise: LeakKind): LeakKind {
  if (owner instanceof HttpServer || owner instanceof HttpsServer) return 'http-server'
  return owner instanceof TlsServer ? 'tls-server' : otherwise
}

function socketKind(trace: Trace): LeakKind {
  const modules = nodeModulesOf(trace)
  if (modules.every((module) => module === '' || module === 'node:internal/async_hooks')) return 'accepted-socket'
  return isPooled(trace) ? 'keep-alive-socket' : 'tcp-socket'
}

function isPooled(trace: Trace): boolean {
  return rawFramesOf(trace).some(({ file }) => POOLS.test(file))
}

const POOLS = /^node:_http_agent$|[\\/]undici[\\/]/

function pipeKind(trace: Trace): LeakKind | 'nothing' {
  const modules = nodeModulesOf(trace)
  if (modules.some((module) => module.startsWith('node:internal/bootstrap'))) return 'nothing'
  if (modules.includes('node:internal/child_process')) return 'child-process'
  return modules.includes('node:net') ? 'unix-socket' : 'accepted-socket'
}

function addressOf(owner: object): string {
  if (Reflect.get(owner, 'listening') === true) return `listening on ${placeOf(addressByMethod(owner))}`
  const { remoteAddress, remotePort } = owner as { remoteAddress?: string; remotePort?: number }
  if (remoteAddress !== undefined) return `to ${remoteAddress}:${remotePort}`
  return placeOf(addressByMethod(owner))
}

function addressByMethod(owner: object): AddressInfo | string | null {
  const address: unknown = Reflect.get(owner, 'address')
  if (typeof address !== 'function') return null
  try {
    return address.call(owner) as AddressInfo | string | null
  } catch {
    return null // Not bound, or not any more.
  }
}

function placeOf(address: AddressInfo | string | null): string {
  if (address === null) return ''
  if (typeof address === 'string') return address
  return address.address === undefined ? '' : `${address.address}:${address.port}`
}
