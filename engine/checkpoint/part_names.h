/* part_names.h - what parts of a checkpoint are called: the file that holds them, and the facts in their manifests. */
#ifndef MR_CHECKPOINT_PART_NAMES_H
#define MR_CHECKPOINT_PART_NAMES_H

/* The file of a part; its tensors are stretches: bytes, called by file and offset, "model.safetensors:4096". */
#define MR_PART_FILE "part.safetensors"

/* Facts of each part: its rank, how many there are, what all parts of one save have in common, and a sentence. */
#define MR_PART_RANK "part"
#define MR_PART_RANKS "parts"
#define MR_PART_SAVE "save"
#define MR_PART_TEXT "what"
/* And of that of rank 0, beside the facts of the whole: "a b", the hosts of the ranks; the files of the whole with
 * their bytes: "model.safetensors 8192 optimizer.safetensors 4096". */
#define MR_PART_HOSTS "hosts"
#define MR_PART_FILES "files"

#endif
