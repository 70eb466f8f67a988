/*
 * image_folder.h - a folder of pictures with one subfolder per class.
 *
 * Classes are numbered in the byte order of their folders' names, and the files of a class in the byte order of theirs.
 * Skipped are names that begin with a dot, and, counted by their endings, files whose names are not those of pictures
 * (formats/picture.h), folders inside a class, and files beside the classes. Opening reads the head of each file.
 *
 * Damaged are files that are no picture, or only a part of one. Where some may be left out, opening decodes each file
 * to find them; else all that are found damaged by their heads, or by decoding all files, are named (damage.h).
 */
#ifndef MR_DATA_IMAGE_FOLDER_H
#define MR_DATA_IMAGE_FOLDER_H

#include "base/str.h"
#include "data/part.h"
#include "formats/damage.h"
#include "formats/picture.h"
#include "formats/skipped.h"

typedef struct mr_image_file {
	uint64_t name;   /* offset in `names` of its path below the root */
	uint64_t bytes;  /* size of the file */
	uint64_t pixels; /* offset in `pixels` of the decoded image */
	mr_picture size;
	int32_t class_of;
} mr_image_file;

typedef struct mr_image_folder {
	char *root;
	mr_strbuf *class_name; /* [n_classes] */
	size_t n_classes;
	mr_image_file *file;   /* [n], class by class */
	size_t n, room;
	mr_strbuf names;       /* the files' paths below the root, each with its NUL */
	uint8_t *pixels;       /* of all files, decoded; NULL: each file is decoded on demand */
	uint64_t file_bytes, pixel_bytes;      /* of all files together */
	uint64_t most_file, most_pixels, most_decoding; /* bytes of the largest one */
	int64_t most_rows, most_cols;
	size_t n_grey;         /* files with one channel */
	uint64_t fingerprint;  /* of the files' paths, sizes and first 4 KiB */
	mr_skipped skipped;
	mr_damage damage;      /* of files; most: set before it is opened */
} mr_image_folder;

/**
 * Scan folder @root into @f, which is zeroed but for damage.most. @like: the classes are those of another folder, and
 * any other class is an error; NULL: each subfolder is a class. mr_image_folder_close follows, also after a failure.
 * Errors: MR_EDATA with the path; MR_ERESOURCE.
 */
mr_status mr_image_folder_open(mr_image_folder *f, const char *root, const mr_image_folder *like) MR_MUST_USE;
void mr_image_folder_close(mr_image_folder *f);

/** Decode file @i into @rgb, [rows, cols, 3] bytes. On any thread. Errors: MR_EDATA with the path, MR_ERESOURCE. */
mr_status mr_image_folder_decode(const mr_image_folder *f, size_t i, uint8_t *rgb) MR_MUST_USE;

/** Decode all files into f->pixels. Errors: as mr_image_folder_decode. */
mr_status mr_image_folder_keep(mr_image_folder *f) MR_MUST_USE;

/** Path of file @i below the root. */
static inline const char *mr_image_folder_name(const mr_image_folder *f, size_t i)
{
	return f->names.data + f->file[i].name;
}

#endif
