import '@tenure/core/supported-node'

export { VirtualClock } from './virtual-clock.ts'
