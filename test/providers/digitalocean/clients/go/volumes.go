package main

import "github.com/digitalocean/godo"

func attachesVolumes() {
	request := &godo.VolumeCreateRequest{Name: "go-volume", Region: "nyc3", SizeGigaBytes: 10, Tags: []string{"k8s:go"}}
	volume := got(client.Storage.CreateVolume(ctx, request))
	equal(volume.Region.Slug, "nyc3")
	equal(volume.Tags, []string{"k8s:go"})
	refused[*godo.Volume](409, "already exists")(client.Storage.CreateVolume(ctx, request))
	found := got(client.Storage.ListVolumes(ctx, &godo.ListVolumeParams{Name: "go-volume", Region: "nyc3"}))
	equal(len(found), 1)
	droplet := world.one.ID
	ended := func(action *godo.Action) {
		until("the action of the volume", func() bool {
			return got(client.StorageActions.Get(ctx, volume.ID, action.ID)).Status == godo.ActionCompleted
		})
	}
	ended(got(client.StorageActions.Attach(ctx, volume.ID, droplet)))
	equal(got(client.Storage.GetVolume(ctx, volume.ID)).DropletIDs, []int{droplet})
	refused[*godo.Action](422, "already attached")(client.StorageActions.Attach(ctx, volume.ID, droplet))
	refusedDeletion, err := client.Storage.DeleteVolume(ctx, volume.ID)
	refusedCall(409, "attached")(refusedDeletion, err)
	ended(got(client.StorageActions.Resize(ctx, volume.ID, 20, "nyc3")))
	equal(got(client.Storage.GetVolume(ctx, volume.ID)).SizeGigaBytes, int64(20))
	snapshotRequest := &godo.SnapshotCreateRequest{VolumeID: volume.ID, Name: "go-snapshot", Tags: []string{"k8s:go"}}
	snapshot := got(client.Storage.CreateSnapshot(ctx, snapshotRequest))
	equal(snapshot.ResourceID, volume.ID)
	equal(snapshot.MinDiskSize, 20)
	equal(snapshot.Regions, []string{"nyc3"})
	refused[*godo.Snapshot](409, "already exists")(client.Storage.CreateSnapshot(ctx, snapshotRequest))
	equal(len(got(client.Snapshots.ListVolume(ctx, nil))), 1)
	equal(got(client.Storage.ListSnapshots(ctx, volume.ID, nil))[0].ID, snapshot.ID)
	copied := &godo.VolumeCreateRequest{Name: "go-copy", Region: "nyc3", SizeGigaBytes: 10, SnapshotID: snapshot.ID}
	refused[*godo.Volume](422, "smaller")(client.Storage.CreateVolume(ctx, copied))
	copied.SizeGigaBytes = 20
	done(client.Storage.DeleteVolume(ctx, got(client.Storage.CreateVolume(ctx, copied)).ID))
	done(client.Snapshots.Delete(ctx, snapshot.ID))
	detaching := got(client.StorageActions.DetachByDropletID(ctx, volume.ID, droplet))
	refused[*godo.Action](422, "pending event")(client.StorageActions.Attach(ctx, volume.ID, droplet))
	ended(detaching)
	refused[*godo.Action](422, "Attachment not found")(client.StorageActions.DetachByDropletID(ctx, volume.ID, droplet))
	done(client.Storage.DeleteVolume(ctx, volume.ID))
	done(client.Tags.Delete(ctx, "k8s:go"))
}
