import '@tenure/core/supported-node'

export { lockConformance } from './lock-conformance.ts'
export type { ForeignData, LockConformanceCase, LockConformanceOptions, LockFixture } from './lock-fixture.ts'
