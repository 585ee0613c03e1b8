// For the other packages of this project. It may change in any release.
export { parseStack, placeOf, type Frame } from './leaks/frame.ts'
export { replaceProperty, undoAll, type Undo } from './leaks/replace-property.ts'
