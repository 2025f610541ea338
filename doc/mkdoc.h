/*
 * The parts of mkdoc.
 */
#ifndef DOC_MKDOC_H
#define DOC_MKDOC_H

/* Print the bash completion. */
void mkdoc_completion(void);

/* Print the completions for zsh and fish. */
void mkdoc_zsh(void);
void mkdoc_fish(void);

#endif
