import '@tenure/core/supported-node'

export { FileLock, type FileLockOptions } from './file-lock.ts'
