import type { Situation } from './decide.ts'
import { hasPorts, type SliceSource, type StoredSlice } from './slice-object.ts'

/** Whether replicas that listen on other ports are in the slice: this one would make them unreachable. */
export function isOfOtherPorts(
  { mode, others, slice, selfAddress, self }: Situation,
  stored: StoredSlice,
  source: SliceSource,
): boolean {
  if (mode === 'leader' || self === undefined || hasPorts(stored, source)) return false
  const isThere = (address: string) => others.some((other) => other.address === address)
  return slice.some(({ address }) => address !== selfAddress && isThere(address))
}

/** Why a slice with other ports cannot be entered. */
export function describeOtherPorts({ namespace, name }: SliceSource): string {
  return `The EndpointSlice ${namespace}/${name} has other ports than \`ports\`, and replicas that listen there. All replicas need the same ports`
}

/** Why a slice of somebody else is not kept. @param foreign why it is not Tenure's */
export function describeForeign({ namespace, name }: SliceSource, foreign: string): string {
  return `Could not keep the EndpointSlice ${namespace}/${name}: ${foreign}. It is somebody else's. Choose another name with \`slice\`, or delete it`
}
