export { FileLock, type FileLockOptions } from './file-lock.ts'
