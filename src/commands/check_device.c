/*
 * The disk of a target, as sysfs describes it. Called by check_target.c.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/check.h"
#include "xdd/base/text.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/sysfile.h"

/* A file below the directory of a device; "" in `buf` where there is none. */
static const char *attribute(const char *directory, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	char *line;

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		line = NULL;
	else
		line = sysfile_line(path, buf, size);
	if (!line)
		*buf = '\0';
	else if (line != buf)
		memmove(buf, line, strlen(line) + 1);
	return buf;
}

static bool number(const char *directory, const char *file, uint64_t *value)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		return false;
	return sysfile_number(path, value);
}

static void read_model(struct check_device *d, const char *directory)
{
	char vendor[32], model[64];

	attribute(directory, "device/vendor", vendor, sizeof(vendor));
	attribute(directory, "device/model", model, sizeof(model));
	/* virtio has a number there, and SATA disks have the word ATA. */
	if (strncmp(vendor, "0x", 2) == 0 || strcmp(vendor, "ATA") == 0)
		*vendor = '\0';
	snprintf(d->model, sizeof(d->model), "%s%s%s", vendor, *vendor && *model ? " " : "", model);
}

static void read_queue(struct check_device *d, const char *directory)
{
	char text[128], *open, *close;
	uint64_t value;

	d->rotational_known = number(directory, "queue/rotational", &value);
	d->rotational = d->rotational_known && value;
	d->removable = number(directory, "removable", &value) && value;
	d->read_only = number(directory, "ro", &value) && value;
	if (number(directory, "queue/max_sectors_kb", &value))
		d->most_bytes = value * 1024;
	number(directory, "device/queue_depth", &d->queue_depth);
	attribute(directory, "queue/scheduler", text, sizeof(text));
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		snprintf(d->scheduler, sizeof(d->scheduler), "%.*s", (int)(close - open - 1),
			 open + 1);
}

/* "8.0 GT/s PCIe" and "4" for both; remembered only where the link runs below its best. */
static void read_link(struct check_device *d, const char *directory)
{
	char device[PATH_MAX], speed[32], speed_most[32];
	uint64_t width, width_most;

	if (snprintf(device, sizeof(device), "%s/device/device", directory) >= (int)sizeof(device))
		return;
	attribute(device, "current_link_speed", speed, sizeof(speed));
	attribute(device, "max_link_speed", speed_most, sizeof(speed_most));
	if (!number(device, "current_link_width", &width) ||
	    !number(device, "max_link_width", &width_most) || strtod(speed, NULL) <= 0 || !width)
		return;
	if (strtod(speed, NULL) >= strtod(speed_most, NULL) && width >= width_most)
		return;
	snprintf(d->link_now, sizeof(d->link_now), "%.1f GT/s x%u", strtod(speed, NULL),
		 (unsigned)width);
	snprintf(d->link_most, sizeof(d->link_most), "%.1f GT/s x%u", strtod(speed_most, NULL),
		 (unsigned)width_most);
}

/* The USB device that a disk hangs on is one of the directories above it. */
static void read_usb(struct check_device *d, const char *directory)
{
	char *path = realpath(directory, NULL), *slash;
	char vendor[32], speed[32];

	while (path && (slash = strrchr(path, '/')) && slash > path) {
		*slash = '\0';
		if (!*attribute(path, "idVendor", vendor, sizeof(vendor)))
			continue;
		d->usb_mbits = strtoull(attribute(path, "speed", speed, sizeof(speed)), NULL, 10);
		break;
	}
	free(path);
}

static void read_layers(struct check_device *d, const char *directory)
{
	attribute(directory, "md/level", d->raid, sizeof(d->raid));
	number(directory, "md/degraded", &d->raid_degraded);
	attribute(directory, "md/sync_action", d->raid_action, sizeof(d->raid_action));
	if (strcmp(d->raid_action, "idle") == 0)
		*d->raid_action = '\0';
}

void check_device_read(struct check_device *d, const char *root, const char *name)
{
	char directory[PATH_MAX];

	snprintf(d->name, sizeof(d->name), "%s", path_last(name));
	snprintf(directory, sizeof(directory), "%s/sys/class/block/%s", root, d->name);
	read_model(d, directory);
	read_queue(d, directory);
	read_link(d, directory);
	read_usb(d, directory);
	read_layers(d, directory);
	blockdev_loop(root, d->name, d->loop_file, sizeof(d->loop_file), &d->loop_buffered);
}
